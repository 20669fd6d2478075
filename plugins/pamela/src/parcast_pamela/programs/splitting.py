"""Where all processes wait for all: a program cut at the collectives that nobody leaves early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

from parcast.program import For, If, Op, Statement
from parcast.quantities import Call, Expr, Name, Num, names_in

#: Whether an operation is one that nobody leaves before all have come
Joins = Callable[[Op], bool]


@attrs.frozen
class Segment:
    """Statements between two such collectives; the one at their end, None at the program's."""

    body: tuple[Statement, ...]
    end: Op | None


@attrs.frozen
class Repeat:
    """Segments of a loop, each ended by a collective."""

    variable: str
    start: Expr
    stop: Expr
    pieces: tuple[Piece, ...]


Piece = Segment | Repeat


@attrs.frozen
class Cut:
    """A program in pieces, and the conditions under which it may be cut so."""

    pieces: tuple[Piece, ...]
    assumed: tuple[Expr, ...]


def cut(body: Sequence[Statement], joins: Joins, runs: Callable[[For], bool]) -> Cut:
    """Return a program in pieces.

    A loop is cut where a collective stands in its body itself. Where something stands before the
    loop or after its last collective, an iteration is taken from there to the last collective of
    the next iteration. ``runs`` tells whether a loop has an iteration: only then may it be cut so,
    which the model assumes.
    """
    assumed: list[Expr] = []
    pieces = tuple(_pieces(tuple(with_barriers(body)), joins, runs, assumed))
    return Cut(pieces, tuple(assumed))


def with_barriers(body: Sequence[Statement]) -> Iterator[Statement]:
    """Yield a body's statements, each collective access as a barrier, the access, and a barrier."""
    for statement in body:
        match statement:
            case Op(arguments={"collective": True}):
                barrier = attrs.evolve(statement, name="barrier", arguments={"color": None})
                yield from (barrier, statement, barrier)
            case For(body=inner):
                yield attrs.evolve(statement, body=tuple(with_barriers(inner)))
            case If(then=then, otherwise=otherwise):
                arms = tuple(with_barriers(then)), tuple(with_barriers(otherwise))
                yield attrs.evolve(statement, then=arms[0], otherwise=arms[1])
            case _:
                yield statement


def _pieces(
    body: tuple[Statement, ...], joins: Joins, runs: Callable[[For], bool], assumed: list[Expr]
) -> Iterator[Piece]:
    waiting: list[Statement] = []
    for statement in body:
        if isinstance(statement, Op) and joins(statement):
            yield Segment(tuple(waiting), statement)
            waiting = []
        elif isinstance(statement, For) and _cuttable(statement, joins):
            head, tail = _around_last(statement.body, joins)
            if not waiting and not tail:
                inner = tuple(_pieces(head, joins, runs, assumed))
                yield Repeat(statement.variable, statement.start, statement.stop, inner)
            elif runs(statement):
                assumed.append(Call(">", (statement.stop, statement.start)))
                yield from _turned((*waiting,), statement, joins, runs, assumed)
                waiting = list(_at(tail, statement.variable, Call("-", (statement.stop, Num(1)))))
            else:
                waiting.append(statement)
        else:
            waiting.append(statement)
    if waiting:
        yield Segment(tuple(waiting), None)


def _turned(
    before: tuple[Statement, ...],
    loop: For,
    joins: Joins,
    runs: Callable[[For], bool],
    assumed: list[Expr],
) -> Iterator[Piece]:
    """Yield a loop up to its last collective, its iterations from one collective to the next."""
    head, tail = _around_last(loop.body, joins)
    entered = _at(head, loop.variable, loop.start)
    yield from _pieces((*before, *entered), joins, runs, assumed)
    later = _at(head, loop.variable, Call("+", (Name(loop.variable), Num(1))))
    following = tuple(_pieces((*tail, *later), joins, runs, assumed))
    yield Repeat(loop.variable, loop.start, Call("-", (loop.stop, Num(1))), following)


def _cuttable(loop: For, joins: Joins) -> bool:
    uniform = "rank" not in names_in(loop.start) | names_in(loop.stop)
    return uniform and any(
        isinstance(statement, Op) and joins(statement) for statement in loop.body
    )


def _around_last(
    body: tuple[Statement, ...], joins: Joins
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Return what stands up to the last collective of a body, and what stands after it."""
    last = max(
        i for i, statement in enumerate(body) if isinstance(statement, Op) and joins(statement)
    )
    return body[: last + 1], body[last + 1 :]


def _at(body: tuple[Statement, ...], variable: str, value: Expr) -> tuple[Statement, ...]:
    """Return statements with a value in a loop variable's place."""

    def put(expr: Expr) -> Expr:
        match expr:
            case Name(id=name):
                return value if name == variable else expr
            case Call(args=args):
                return attrs.evolve(expr, args=tuple(map(put, args)))
        return expr

    def at(statement: Statement) -> Statement:
        match statement:
            case Op(arguments=arguments):
                written = (str, bool, type(None))
                changed = {k: v if isinstance(v, written) else put(v) for k, v in arguments.items()}
                return attrs.evolve(statement, arguments=changed)
            case If(test=test, then=then, otherwise=otherwise):
                arms = tuple(map(at, then)), tuple(map(at, otherwise))
                return attrs.evolve(statement, test=put(test), then=arms[0], otherwise=arms[1])
            case For(start=start, stop=stop, body=inner):
                return attrs.evolve(
                    statement, start=put(start), stop=put(stop), body=tuple(map(at, inner))
                )
        raise TypeError(statement)

    return tuple(map(at, body))
