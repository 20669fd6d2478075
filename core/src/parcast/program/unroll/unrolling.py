"""From the tree of a program to the operations of every rank, many ranks at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import attrs
import numpy as np

from parcast.errors import InvalidPointError
from parcast.program.source.attributes import assigned, attributes_of, expressions, place
from parcast.program.source.operations import ANY, OFFLOADED, OPERATIONS, REQUESTS, Argument
from parcast.program.source.tree import Assign, For, If, Op, Pool, Statement, Tree, nested
from parcast.program.unroll.arguments import column, whole
from parcast.program.unroll.arithmetic import LaneError, apply
from parcast.program.unroll.blocks import Block, Ranks, Request, Unrolled
from parcast.program.unroll.blocks import Pool as Tasks
from parcast.program.unroll.lanes import Lanes, Memo, Scope, evaluate, finite, take, truth
from parcast.program.unroll.requests import OpenRequests, Waited
from parcast.quantities.expressions import Expr, Name, Num, Value, names_in

#: A program of more blocks (some 100 bytes each), or with loops of more iterations, is refused.
MOST_STEPS = 4_000_000

#: A program whose arguments need more memory, in bytes, is refused.
MOST_BYTES = 2**31

#: More processes than this are refused: a number for each is 8 MB.
MOST_RANKS = 2**20

#: Values kept for each place in the tree: fewer where there are many ranks.
_CACHED, _CACHED_RANKS = 64, 2**22

_Finish = Callable[[Any, Ranks], Any]
_Plan = tuple[dict[str, Any], list[tuple[str, Expr, _Finish]]]


def unroll(tree: Tree, size: int, parameters: Mapping[str, Value]) -> Unrolled:
    """Return the operations of all ``size`` processes.

    Every value is what Python gives on that rank. Blocks of a loop share what does not change
    from one iteration to the next.

    Raises
    ------
    InvalidPointError
        If the program has no meaning for this size and these parameters, or too many
        operations; the line and the rank are named.
    """
    run = _Run(tree, size)
    if size > MOST_RANKS:
        raise InvalidPointError(
            f"{run.where}: p={size:,} is more processes than a program can be unrolled for "
            f"({MOST_RANKS:,}); use a smaller p"
        )
    ranks = np.arange(size)
    names = {"rank": ranks if size > 1 else 0, "size": size, **parameters}
    run.execute(tree.body, Scope(Lanes(ranks, whole=True), names))
    run.check_waited()
    return Unrolled(size, run.blocks, tree.sites, run.where, tuple(run.pools))


class _Run:
    def __init__(self, tree: Tree, size: int, p: int | None = None) -> None:
        self.tree = tree
        self.size = size
        self.lane, self.p = ("rank", size) if p is None else ("task", p)
        self.pools: list[Tasks] = []
        self.where = tree.where or tree.name
        self.blocks: list[Block] = []
        self._memo = Memo(max(1, min(_CACHED, _CACHED_RANKS // size)))
        self._names: dict[int, tuple[Expr, frozenset[str]]] = {}
        self._plans: dict[int, _Plan] = {}
        self._open = OpenRequests(self._memo)
        self._operations = self._bytes = self._iterations = 0

    def execute(self, body: tuple[Statement, ...], scope: Scope) -> None:
        for statement in body:
            match statement:
                case Op():
                    self._operate(statement, scope)
                case Assign(variable, value, line):
                    scope.values[variable] = self._value(value, scope, line, finite)
                case For():
                    self._loop(statement, scope)
                case Pool():
                    self._pool(statement, scope)
                case If():
                    self._choose(statement, scope)

    def check_waited(self) -> None:
        """Refuse requests that are open where the program ends."""
        request = self._open.first()
        if request is not None:
            site = self.tree.sites[self.blocks[request[0]].site]
            rank = request[1].ranks[0]
            sentence = f"rank {rank} never waits for this {site.name}; add a waitall()"
            self._fail(site.line or 1, sentence)

    def _fail(self, line: int, sentence: str) -> NoReturn:
        raise InvalidPointError(f"{self.where}:{line}: at p={self.p} {sentence}")

    def _value(self, expr: Expr, scope: Scope, line: int, finish: _Finish, use: str = "") -> Any:
        """Return what ``finish`` makes of an expression's value, made once for equal sources."""

        def make() -> Any:
            value = self._evaluated(expr, scope, line, finish)
            self._keep(getattr(value, "nbytes", 0) if use else 0, line)
            return value

        if isinstance(expr, Name) and isinstance(scope.origin(expr.id), int):
            return make()  # quicker than to look it up
        _, names = self._names.get(id(expr)) or self._names_of(expr)
        sources = (scope.lanes, *[scope.origin(name) for name in names])
        return self._memo.get(expr, sources, make, use)

    def _names_of(self, expr: Expr) -> tuple[Expr, frozenset[str]]:
        """Return an expression, held so that its identity stays its own, and its names."""
        entry = self._names[id(expr)] = expr, names_in(expr)
        return entry

    def _evaluated(self, expr: Expr, scope: Scope, line: int, finish: _Finish) -> Any:
        """Return what ``finish`` makes of an expression's value."""
        try:
            return finish(evaluate(expr, scope), scope.lanes.ranks)
        except LaneError as error:
            self._fail(line, f"{self.lane} {error.rank} {error}")

    def _keep(self, nbytes: int, line: int) -> None:
        self._bytes += nbytes
        if self._bytes > MOST_BYTES:
            count = f"more than {self._operations:,} operations"
            sentence = f"the program has {count}, whose arguments take over {MOST_BYTES:,} bytes"
            self._fail(line, f"{sentence}; use a smaller p or lower its iterations")

    def _refuse(self, line: int, size: str) -> NoReturn:
        limit = f"more than the {MOST_STEPS:,} that fit in memory"
        self._fail(line, f"{size}, {limit}; lower its iterations")

    def _lanes(self, scope: Scope, index: Ranks, line: int) -> Lanes:
        ranks = index if scope.lanes.whole else scope.lanes.ranks[index]
        self._keep(2 * ranks.nbytes, line)
        return Lanes(ranks)

    def _choose(self, statement: If, scope: Scope) -> None:
        test = self._value(statement.test, scope, statement.line, lambda v, _: truth(v))
        arms = (statement.then, statement.otherwise)
        if not isinstance(test, np.ndarray):
            self.execute(arms[not test], scope)
            return

        for arm, chosen in zip(arms, (True, False), strict=True):

            def part(chosen: bool = chosen) -> tuple[Ranks, Lanes]:
                index = np.flatnonzero(test == chosen)
                return index, self._lanes(scope, index, statement.line)

            if arm:
                index, lanes = self._memo.get(statement, (scope.lanes, test), part, chosen)
                self._narrowed(arm, scope, index, lanes)

    def _narrowed(
        self, body: tuple[Statement, ...], scope: Scope, index: Ranks, lanes: Lanes
    ) -> None:
        if len(index) == len(scope.lanes.ranks):
            self.execute(body, scope)
        elif len(index):
            inner = scope.narrowed(index, lanes)
            self.execute(body, inner)
            scope.merge(inner)

    def _loop(self, loop: For, scope: Scope) -> None:
        ranks = scope.lanes.ranks
        start, stop, step = (
            self._value(expr, scope, loop.line, _bound)
            for expr in (loop.start, loop.stop, loop.step)
        )
        if not np.all(step):
            rank = ranks[np.argmin(np.abs(step))]
            self._fail(loop.line, f"rank {rank} has a step of 0 in range(); give another")
        counts, stages = self._memo.get(
            loop, (scope.lanes, start, stop, step), lambda: _stages(start, stop, step, ranks)
        )
        for first, last in stages:
            uniform = not isinstance(counts, np.ndarray)
            if uniform or (first == 0 and counts.all()):
                values = _values(start, step, first, last)
                self._iterate(loop, scope, values, last - first, "" if uniform else "more than ")
                continue

            def part(least: int = last) -> tuple[Ranks, Lanes]:
                index = np.flatnonzero(counts >= least)
                return index, self._lanes(scope, index, loop.line)

            index, lanes = self._memo.get(loop, (scope.lanes, counts, last), part, "part")
            inner = scope.narrowed(index, lanes)
            values = _values(take(start, index), take(step, index), first, last)
            self._iterate(loop, inner, values, last - first, "more than ")
            scope.merge(inner)

    def _pool(self, pool: Pool, scope: Scope) -> None:
        """Unroll the tasks of a pool, each in place of a rank."""
        local = {pool.variable, *assigned(pool.body)}
        read = {
            n
            for statement in nested((pool,))
            for e in expressions(statement).values()
            for n in names_in(e)
        }
        outer = {
            name: self._evaluated(Name(name), scope, pool.line, partial(_uniform, repr(name)))
            for name in sorted(read - local)
        }
        alike = Scope(Lanes(scope.lanes.ranks[:1]), dict(outer))
        start, stop, step = (
            self._value(expr, alike, pool.line, _bound)
            for expr in (pool.start, pool.stop, pool.step)
        )
        if step == 0:
            self._fail(pool.line, "the range has a step of 0; give another")
        count = len(tasks := range(start, stop, step))
        if count > MOST_RANKS:
            self._fail(pool.line, f"there are {count:,} tasks, more than {MOST_RANKS:,}")
        dealt = self._tasks(pool, tasks, outer)
        if pool.master is not None:
            dealt = self._attended(pool, dealt, alike, scope)
        self._operations += len(scope.lanes.ranks) + dealt.work.count()
        if dealt.master is not None and len(scope.lanes.ranks) == 1:
            self.blocks += _one_after_another(dealt, scope.lanes.ranks)  # nobody else comes
            return
        ranks = None if scope.lanes.whole else scope.lanes.ranks
        self.blocks.append(Block(pool.site, "pool", ranks, {"pool": len(self.pools)}))
        self.pools.append(dealt)

    def _attended(self, pool: Pool, dealt: Tasks, alike: Scope, scope: Scope) -> Tasks:
        """Return a pool with the process that attends to it."""
        assert pool.master is not None
        finish = partial(column, size=self.size, argument=Argument("master", "rank"))
        master = self._value(pool.master, alike, pool.line, finish, "master")
        if master not in scope.lanes.ranks:
            meeting = f"rank {scope.lanes.ranks[0]} comes to a pool whose master is rank {master}"
            self._fail(pool.line, f"{meeting}, which does not come; let it come as well")
        workers, tag = len(scope.lanes.ranks) - 1, _FIRST_TAG - len(self.pools)
        return attrs.evolve(dealt, master=master, workers=workers, tag=tag)

    def _tasks(self, pool: Pool, tasks: range, outer: Mapping[str, Any]) -> Tasks:
        if not tasks:
            return Tasks(0, Unrolled(0, [], self.tree.sites, self.where))
        count = len(tasks)
        numbers = np.array(tasks, np.int64) if count > 1 else tasks[0]
        inner = _Run(self.tree, count, self.size)
        scope = Scope(Lanes(np.arange(count), whole=True), {**outer, pool.variable: numbers})
        inner.execute(pool.body, scope)
        fetched, result = (
            inner._value(
                expr,
                scope,
                pool.line,
                partial(column, size=count, argument=argument),
                argument.name,
            )
            for expr, argument in ((pool.bytes, _FETCHED), (pool.result, _RESULT))
        )
        return Tasks(fetched, Unrolled(count, inner.blocks, self.tree.sites, self.where), result)

    def _iterate(
        self, loop: For, scope: Scope, values: Iterable[Any], count: int, prefix: str
    ) -> None:
        blocks, before, first = len(self.blocks), self._operations, True
        if count > 10**18:  # too long to print
            count, prefix = 10**18, "more than "
        for value in values:
            scope.values[loop.variable] = value
            self._iterations += 1
            self.execute(loop.body, scope)
            if first:
                added, first = len(self.blocks) - blocks, False
                if blocks + added * count > MOST_STEPS and self._steady(loop):
                    total, steps = (self._operations - before) * count, added * count
                    size = f"{prefix}{total:,} operations in {steps:,} blocks"
                    self._refuse(loop.line, f"the loop has {size}")
                total = self._iterations + count - 1
                if total > MOST_STEPS:
                    size = f"{prefix}{total:,} iterations, more than the {MOST_STEPS:,} it may have"
                    self._fail(
                        loop.line, f"the loop brings the program to {size}; lower its bounds"
                    )

    def _steady(self, loop: For) -> bool:
        """Tell whether all iterations have the same operations, whatever their arguments."""
        flow = attributes_of(self.tree)
        inside = (flow.control[place(statement)] for statement in nested(loop.body))
        steady = not any(loop.variable in roots for roots in inside)
        return steady and not flow.carried[place(loop)]

    def _operate(self, op: Op, scope: Scope) -> None:
        lanes = scope.lanes
        plan = self._plans.get(id(op))
        if plan is None:
            plan = self._plans[id(op)] = self._plan(op, scope)
        fixed, varying = plan
        columns = {
            name: self._value(expr, scope, op.line, finish, name) for name, expr, finish in varying
        }
        ordinal = len(self.blocks)
        requests = tuple(
            (ordinal - earlier, None if group is lanes else group)
            for earlier, group in self._waited(op, scope)
        )

        def make() -> Block:
            ranks = None if lanes.whole else lanes.ranks
            waited = tuple(
                Request(back, None if group is None else group.ranks) for back, group in requests
            )
            return Block(op.site, op.name, ranks, {**fixed, **columns}, waited)

        self.blocks.append(self._memo.get(op, (lanes, *columns.values(), *requests), make))
        self._operations += len(lanes.ranks)
        if ordinal == MOST_STEPS:
            count = f"more than {self._operations:,} operations"
            self._refuse(op.line, f"the program has {count} in {MOST_STEPS:,} blocks")
        if op.name in REQUESTS:
            self._open.post(ordinal, lanes)
            if op.handle is not None:
                scope.values[op.handle] = ordinal

    def _plan(self, op: Op, scope: Scope) -> _Plan:
        """Return the arguments of an operation that never change, and how to make the others."""
        fixed: dict[str, Any] = {}
        varying: list[tuple[str, Expr, _Finish]] = []
        for argument in OPERATIONS[op.name]:
            name, value = argument.name, op.arguments[argument.name]
            finish = partial(column, size=self.p, argument=argument)
            if isinstance(value, Num):
                fixed[name] = self._value(value, scope, op.line, finish, name)
            elif isinstance(value, Name) and value.id == "ANY":
                fixed[name] = ANY
            elif value is None or isinstance(value, (str, bool)):
                fixed[name] = value
            else:
                fixed[name] = None  # holds its place in the order of the call
                varying.append((name, value, finish))
        fixed.pop("request", None)
        if fixed.get("on") == "cpu":
            for name in OFFLOADED:
                del fixed[name]
        return fixed, varying

    def _waited(self, op: Op, scope: Scope) -> list[Waited]:
        if op.name == "waitall":
            return self._open.wait_all(scope.lanes)
        if op.name != "wait":
            return []
        name = str(op.arguments["request"])
        try:
            wanted = scope.read(name, "waits for {!r}, which holds no request there")
            return self._open.wait(scope.lanes, wanted, name)
        except LaneError as error:
            self._fail(op.line, f"rank {error.rank} {error}")


#: What is fetched of a task, as an argument.
_FETCHED = Argument("bytes", "amount")
#: What a master is sent of a task.
_RESULT = Argument("result", "amount")

#: The tag of the first pool that has a master, lower than those of collectives.
_FIRST_TAG = -(2**40)


def _one_after_another(pool: Tasks, ranks: Ranks) -> Iterator[Block]:
    """Yield all tasks of a pool, done by one process."""
    for listed in pool.work.by_rank():
        for operation in listed:
            yield Block(operation.site, operation.op, ranks, operation.arguments)


def _uniform(name: str, value: Any, ranks: Ranks) -> Any:
    """Return the one value that all lanes have."""
    if isinstance(value, np.ndarray):
        odd = value != value[0]
        if odd.any():
            sentence = f"has another {name} than rank {ranks[0]}, and tasks are the same for all"
            raise LaneError(sentence, ranks[odd.argmax()])
        return value.item(0)
    return value


def _bound(value: Any, ranks: Ranks) -> Any:
    return whole(value, ranks, lambda v: f"has {v} in range()", bits=None)


def _stages(start: Any, stop: Any, step: Any, ranks: Ranks) -> tuple[Any, list[tuple[int, int]]]:
    """Return how often each lane goes round, and the stages between which fewer go on."""
    length = apply("neg", [apply("//", [apply("-", [start, stop], ranks), step], ranks)], ranks)
    counts = apply("max", [0, length], ranks)
    ends = [0, *sorted({*counts.tolist()} - {0})] if isinstance(counts, np.ndarray) else [0, counts]
    return counts, list(pairwise(ends))


def _values(start: Any, step: Any, first: int, last: int) -> Iterable[Any]:
    """Return the values of the loop's variable from iteration ``first`` to before ``last``."""
    if isinstance(start, int) and isinstance(step, int):
        return range(start + first * step, start + last * step, step)
    ranks = np.zeros(1, np.int64)  # nothing here can fail on a rank
    return (apply("+", [start, apply("*", [step, k], ranks)], ranks) for k in range(first, last))
