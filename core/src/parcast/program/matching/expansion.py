"""Expansion: collectives found complete and consistent, then put as their messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.errors import InvalidPointError
from parcast.program.matching.beside import Beside, beside, interleaved
from parcast.program.matching.buffering import buffered
from parcast.program.matching.collectives import (
    Algorithms,
    Groups,
    Step,
    groups,
    some,
    steps,
)
from parcast.program.source.operations import COLLECTIVES, VECTOR_COLLECTIVES
from parcast.program.unroll.blocks import Block, Ranks, Request, Unrolled, is_collective


@attrs.frozen(eq=False)
class Arrival:
    """Processes that come to a collective in one block."""

    ordinal: int
    block: Block
    ranks: Ranks
    lanes: Any = None  #: where they stand in the block's columns; None: all of them

    def argument(self, name: str) -> Any:
        """Return an argument of these processes, None where the operation has none."""
        value = self.block.arguments.get(name)
        return value if self.lanes is None else some(value, self.lanes)


_POSTED = ("isend", "irecv")
#: What is no message, among the steps of a collective; its own time has a tag, as messages have.
_UNTAGGED = ("read", "write", "elapse")

#: The arrivals that make one collective of all processes, or the one block of its groups.
Collective = tuple[Arrival, ...]


def find_collectives(unrolled: Unrolled) -> list[Collective]:
    """Return every collective, checked to be complete and the same on all of its processes.

    Without a color, all processes take part: the k-th such collective of each is one
    collective, from whichever line. With a color, the processes of one block (the same line
    in the same iteration) that have the same color are a group, and ``root`` is a position
    in it, in the order of ranks. Root and file must agree, and bytes but for `VECTOR_COLLECTIVES`.

    Raises
    ------
    InvalidPointError
        If one is not; lines and ranks are named.
    """
    calls: list[Collective] = []
    counts = np.zeros(unrolled.size, np.int64)
    waiting: dict[int, list[Arrival]] = {}
    missing: dict[int, int] = {}
    checked: set[Any] = set()
    for arrival, turn in _arrivals(unrolled, counts):
        call: Collective = (arrival,)
        if turn is not None:
            waiting.setdefault(turn, []).append(arrival)
            _same_operation(unrolled, waiting[turn][0], arrival)
            missing[turn] = missing.get(turn, unrolled.size) - len(arrival.ranks)
            if missing[turn]:
                continue
            call = tuple(waiting.pop(turn))
        if _key(call) not in checked:
            _consistent(unrolled, call)
            checked.add(_key(call))
        calls.append(call)
    if waiting:
        raise InvalidPointError(_incomplete(unrolled, waiting[min(waiting)]))
    return calls


def _arrivals(unrolled: Unrolled, counts: Ranks) -> Iterator[tuple[Arrival, int | None]]:
    """Yield arrivals, and how many uncolored collectives came before; None with a color."""
    for ordinal, block in enumerate(unrolled.blocks):
        if not is_collective(block):
            continue
        ranks = unrolled.ranks_of(block)
        if block.arguments.get("color") is not None:
            yield Arrival(ordinal, block, ranks), None
            continue
        turns = counts[ranks]
        counts[ranks] += 1
        if len(ranks) and (turns == turns[0]).all():
            yield Arrival(ordinal, block, ranks), int(turns[0])
            continue
        for turn in np.unique(turns).tolist():
            lanes = np.flatnonzero(turns == turn)
            yield Arrival(ordinal, block, ranks[lanes], lanes), turn


def _key(call: Collective) -> Any:
    """Return what makes two collectives expand to the same messages."""
    names = ("bytes", "root", "color", "file")
    return tuple(
        (
            arrival.block.op,
            None if arrival.block.ranks is None else id(arrival.ranks),
            id(arrival.lanes),
            *(_identity(arrival.block.arguments.get(name)) for name in names),
        )
        for arrival in call
    )


def _identity(value: Any) -> Any:
    return ("column", id(value)) if isinstance(value, np.ndarray) else value


def _same_operation(unrolled: Unrolled, first: Arrival, second: Arrival) -> None:
    if first.block.op != second.block.op:
        raise InvalidPointError(
            f"{unrolled.line(first.block.site)}: at p={unrolled.size} rank {first.ranks[0]} calls "
            f"{first.block.op} where rank {second.ranks[0]} calls {second.block.op} "
            f"({unrolled.line(second.block.site)}); call the same collectives in the same order on "
            "every process, or give color="
        )


def _incomplete(unrolled: Unrolled, arrivals: Sequence[Arrival]) -> str:
    ranks = np.sort(np.concatenate([arrival.ranks for arrival in arrivals])).tolist()
    block = arrivals[0].block
    return (
        f"{unrolled.line(block.site)}: at p={unrolled.size} {block.op} is reached by "
        f"{_ranks(ranks)} only, {len(ranks)} of {unrolled.size} processes; call it on every "
        "process or give color="
    )


def _ranks(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]}..{ranks[-1]}"
    others = f" and {len(ranks) - 4} more" if len(ranks) > 4 else ""
    return f"ranks {', '.join(map(str, ranks[:4]))}{others}"


def _consistent(unrolled: Unrolled, call: Collective) -> None:
    """Refuse bytes, roots or files that differ where they must not, or that cannot be."""
    among = _groups(call)
    head = among.first if isinstance(among.first, np.ndarray) else np.zeros(len(among.ranks), int)
    leaders = np.searchsorted(among.ranks, among.members[head])
    op = call[0].block.op
    for name in _alike(op):
        values = _together(call, name)
        if not isinstance(values, np.ndarray):
            continue
        wrong = np.flatnonzero(values != values[leaders])
        if len(wrong):
            leader, odd = int(leaders[wrong[0]]), int(wrong[0])
            raise InvalidPointError(
                f"{_line(unrolled, call, among.ranks[leader])}: at p={unrolled.size} rank "
                f"{among.ranks[leader]} calls {op} with {name} {values[leader]} and rank "
                f"{among.ranks[odd]} with {values[odd]} "
                f"({_line(unrolled, call, among.ranks[odd])}); give every process of the "
                f"group the same {name}{_unequal(op, name)}"
            )
    _possible(unrolled, call, among)


def _alike(op: str) -> tuple[str, ...]:
    """Return the arguments that are the same on all processes of a group."""
    if op in VECTOR_COLLECTIVES:
        return ("root",)
    return ("bytes", "root") if op in COLLECTIVES else ("file",)


def _unequal(op: str, name: str) -> str:
    """Return the collective that takes unlike bytes, as a hint."""
    return f", or call {op}v" if name == "bytes" and f"{op}v" in VECTOR_COLLECTIVES else ""


def _possible(unrolled: Unrolled, call: Collective, among: Groups) -> None:
    """Refuse bytes that are too many, and roots outside of their group."""
    op, amount, root = call[0].block.op, _together(call, "bytes"), _together(call, "root")
    many = 0 if amount is None or op not in COLLECTIVES else float(np.max(amount)) * unrolled.size
    if np.isinf(many):
        raise InvalidPointError(
            f"{_line(unrolled, call, among.ranks[0])}: at p={unrolled.size} {op} of "
            f"{np.max(amount)} bytes on each process overflows; give fewer bytes"
        )
    if root is None:
        return
    outside = np.broadcast_to(root >= among.size, among.ranks.shape)
    if outside.any():
        lane = int(np.argmax(outside))
        size = some(among.size, lane)
        raise InvalidPointError(
            f"{_line(unrolled, call, among.ranks[lane])}: at p={unrolled.size} {op} has root "
            f"{some(root, lane)} in a group of {size}, outside 0 .. {size - 1}; with color=, "
            "root counts within the group"
        )


def _line(unrolled: Unrolled, call: Collective, rank: int) -> str:
    return next(unrolled.line(arrival.block.site) for arrival in call if rank in arrival.ranks)


def _groups(call: Collective) -> Groups:
    if len(call) == 1:
        return groups(call[0].ranks, call[0].argument("color"))
    return groups(np.sort(np.concatenate([arrival.ranks for arrival in call])), None)


def groups_and_bytes(call: Collective) -> tuple[Groups, Any]:
    """Return the groups of a collective, and the bytes of each of its processes."""
    return _groups(call), _together(call, "bytes")


def _together(call: Collective, name: str) -> Any:
    """Return an argument over all processes of a collective, in the order of ranks."""
    if len(call) == 1:
        return call[0].argument(name)
    columns = [np.broadcast_to(arrival.argument(name), arrival.ranks.shape) for arrival in call]
    order = np.argsort(np.concatenate([arrival.ranks for arrival in call]))
    column = np.concatenate(columns)[order]
    same = len(column) > 0 and bool((column == column[0]).all())
    return column.tolist()[0] if same else column


def expand(
    unrolled: Unrolled, algorithms: Mapping[str, str], calls: Sequence[Collective] | None = None
) -> Unrolled:
    """Return the program with its collectives put as messages between two processes.

    Each collective's messages carry a negative tag of its own. Collective reads and writes
    become a barrier, the access and a barrier; where the algorithms have aggregators, these access
    shared files for all (`buffered`). A program without collectives is returned
    as it is. ``calls`` is what `find_collectives` gave, where that was asked before.

    Raises
    ------
    InvalidPointError
        If a collective is not complete or not the same on all of its processes.
    """
    calls = find_collectives(unrolled) if calls is None else calls
    if not calls:
        return unrolled
    meanwhile = beside(unrolled, {arrival.ordinal for call in calls for arrival in call})
    expansion = _Expansion(unrolled, algorithms, meanwhile)
    replaced: dict[int, list[Block]] = dict(meanwhile.left)
    for call in calls:
        for ordinal, blocks in expansion.of(call):
            replaced.setdefault(ordinal, []).extend(blocks)
    return attrs.evolve(unrolled, blocks=_spliced(unrolled.blocks, replaced))


def _spliced(blocks: Sequence[Block], replaced: Mapping[int, Sequence[Block]]) -> list[Block]:
    """Return all blocks, the requests found again where they stand now."""
    spliced: list[Block] = []
    starts: list[int] = []
    moved: dict[Any, Block] = {}
    for ordinal, block in enumerate(blocks):
        starts.append(len(spliced))
        if ordinal in replaced:
            spliced.extend(replaced[ordinal])
            continue
        backs = tuple(len(spliced) - starts[ordinal - request.back] for request in block.requests)
        if any(back != request.back for back, request in zip(backs, block.requests, strict=True)):
            if (id(block), backs) not in moved:
                pairs = zip(backs, block.requests, strict=True)
                requests = tuple(Request(back, request.ranks) for back, request in pairs)
                moved[id(block), backs] = attrs.evolve(block, requests=requests)
            block = moved[id(block), backs]  # noqa: PLW2901  (the same block, its requests moved)
        spliced.append(block)
    return spliced


@attrs.define(eq=False)
class _Expansion:
    """Messages of collectives, their columns shared between those that are alike."""

    unrolled: Unrolled
    algorithms: Mapping[str, str]
    meanwhile: Beside
    tag: int = 0
    step_lists: dict[Any, list[list[Step]]] = attrs.field(factory=dict)
    accesses: dict[Any, list[list[Step]]] = attrs.field(factory=dict)

    def of(self, call: Collective) -> Iterator[tuple[int, list[Block]]]:
        """Yield the blocks that stand for each arrival."""
        key = _key(call)
        if key not in self.step_lists:
            self.step_lists[key] = self._steps(call)
        access = call[0].block.op not in COLLECTIVES
        shared = call[0].block.arguments.get("file") == "shared"
        if access and shared and self._aggregators is not None:
            yield from self._buffered(call, key, self._aggregators)
            return
        self.tag -= 1 + access
        for arrival, messages in zip(call, self.step_lists[key], strict=True):
            if access:
                before, after = (self._blocks(arrival, messages, self.tag + k) for k in (1, 0))
                yield arrival.ordinal, [*before, self._access(arrival), *after]
            else:
                yield arrival.ordinal, self._blocks(arrival, messages, self.tag)

    @property
    def _aggregators(self) -> int | None:
        chosen = self.algorithms
        return chosen.aggregators if isinstance(chosen, Algorithms) else None

    def _buffered(
        self, call: Collective, key: Any, aggregators: int
    ) -> Iterator[tuple[int, list[Block]]]:
        """Yield a barrier, what aggregators do for all, and a barrier."""
        if key not in self.accesses:
            op, amount = call[0].block.op, _together(call, "bytes")
            self.accesses[key] = _of_each(call, buffered(op, _groups(call), amount, aggregators))
        self.tag -= 3
        for arrival, joining, moving in zip(
            call, self.step_lists[key], self.accesses[key], strict=True
        ):
            yield (
                arrival.ordinal,
                [
                    *self._blocks(arrival, joining, self.tag + 2),
                    *self._blocks(arrival, moving, self.tag + 1),
                    *self._blocks(arrival, joining, self.tag),
                ],
            )

    def _steps(self, call: Collective) -> list[list[Step]]:
        """Return the messages of each arrival's processes."""
        op = call[0].block.op
        amount = 0
        if op not in COLLECTIVES:
            op = "barrier"
        elif op != "barrier":
            amount = _together(call, "bytes")
        root = _together(call, "root") if "root" in call[0].block.arguments else 0
        return _of_each(call, steps(op, self.algorithms, _groups(call), amount, root))

    def _blocks(self, arrival: Arrival, messages: Sequence[Step], tag: int) -> list[Block]:
        seconds = self.meanwhile.seconds.get(arrival.ordinal)
        if seconds is not None:
            messages = interleaved(messages, arrival.ranks, seconds, self.meanwhile.pace)
        places = {id(step): place for place, step in enumerate(messages) if step.op in _POSTED}
        return [
            Block(
                arrival.block.site,
                step.op,
                None if len(step.ranks) == self.unrolled.size else step.ranks,
                _tagged(step, tag),
                tuple(_requests(step, place, places)),
            )
            for place, step in enumerate(messages)
        ]

    def _access(self, arrival: Arrival) -> Block:
        names = ("bytes", "file")
        arguments = {name: arrival.argument(name) for name in names} | {"collective": False}
        ranks = None if len(arrival.ranks) == self.unrolled.size else arrival.ranks
        return Block(arrival.block.site, arrival.block.op, ranks, arguments)


def _tagged(step: Step, tag: int) -> Mapping[str, Any]:
    arguments = step.arguments
    untagged = step.op in _UNTAGGED and "tag" not in arguments
    return arguments if untagged else {**arguments, "tag": tag}


def _requests(wait: Step, place: int, places: Mapping[int, int]) -> Iterator[Request]:
    """Yield what a step waits for, where it stands among the messages of its processes."""
    for step in wait.waits:
        if id(step) not in places:
            continue
        everyone = len(step.ranks) == len(wait.ranks)
        yield Request(place - places[id(step)], None if everyone else step.ranks)


def _of_each(call: Collective, messages: list[Step]) -> list[list[Step]]:
    """Return the steps of each arrival's processes."""
    if len(call) == 1:
        return [messages]
    return [_only(messages, arrival.ranks) for arrival in call]


def _only(messages: Sequence[Step], ranks: Ranks) -> list[Step]:
    """Return the steps of these ranks; a step that repeats stays one object."""
    restricted: dict[int, Step] = {}
    for step in messages:
        if id(step) not in restricted:
            at = np.minimum(np.searchsorted(step.ranks, ranks), len(step.ranks) - 1)
            part = step.take(at[step.ranks[at] == ranks])
            waits = tuple(restricted[id(p)] for p in step.waits if id(p) in restricted)
            restricted[id(step)] = attrs.evolve(part, waits=waits) if waits else part
    return [restricted[id(step)] for step in messages if len(restricted[id(step)].ranks)]
