"""Time that elapses beside a collective: its messages go on meanwhile, in turns.

A recorded run begins a collective, computes, and waits for it. Its messages depend on each other,
and a process of the language does one thing after the other: so the time is cut, and while each
message is on its way a piece elapses, no longer than a message of that size takes by itself. The
rest elapses at the end. That takes no less than if both went on by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.program.matching.collectives import Step, some
from parcast.program.unroll.blocks import Block, Ranks, Unrolled

#: Of ``elapse``: whether it is beside the collective before it or the one after it.
_BEFORE, _AFTER = -1, 1

Seconds = NDArray[np.float64]

#: Seconds of a message, and of each of its bytes.
Pace = tuple[float, float]


@attrs.frozen(eq=False)
class Beside:
    """Seconds of every process beside a collective, by its block, and what is left elsewhere."""

    seconds: Mapping[int, Seconds]
    pace: Pace
    left: Mapping[int, list[Block]]


def beside(unrolled: Unrolled, collectives: set[int]) -> Beside:
    """Return what elapses beside the collectives that stand at these places.

    An ``elapse`` that is not next to its collective on some process stays as it is there.
    """
    marked = {id(b): b for b in unrolled.blocks if "beside" in b.arguments}
    if not marked:
        return Beside({}, (0.0, 0.0), {})
    seconds: dict[int, Seconds] = {}
    taken: dict[int, NDArray[np.bool_]] = {}
    places = range(len(unrolled.blocks))
    together = np.zeros(len(unrolled.blocks) + 1, np.bool_)  # the last for none
    together[list(collectives)] = True
    for side, order in ((_BEFORE, places), (_AFTER, reversed(places))):
        last = np.full(unrolled.size, -1)
        for place in order:
            block = unrolled.blocks[place]
            ranks = unrolled.ranks_of(block)
            if id(block) not in marked:
                last[ranks] = place
                continue
            on_side = np.broadcast_to(block.arguments["beside"], ranks.shape) == side
            on_side = on_side & together[last[ranks]]
            amount = np.broadcast_to(block.arguments["seconds"], ranks.shape)
            for owner in np.unique(last[ranks[on_side]]).tolist():
                lanes = on_side & (last[ranks] == owner)
                column = seconds.setdefault(owner, np.zeros(unrolled.size))
                column[ranks[lanes]] += amount[lanes]
            taken[place] = taken.get(place, np.zeros(len(ranks), np.bool_)) | on_side
            last[ranks[~on_side]] = place
    left = {place: list(_left(unrolled, place, lanes)) for place, lanes in taken.items()}
    pace: Pace = next(iter(marked.values())).arguments["pace"]
    return Beside(seconds, pace, left)


def _left(unrolled: Unrolled, place: int, taken: NDArray[np.bool_]) -> Iterator[Block]:
    block = unrolled.blocks[place]
    if not taken.all():
        amount = some(block.arguments["seconds"], ~taken)
        ranks = unrolled.ranks_of(block)[~taken]
        yield Block(block.site, "elapse", ranks, {"seconds": amount})


def interleaved(messages: Sequence[Step], ranks: Ranks, seconds: Seconds, pace: Pace) -> list[Step]:
    """Return the messages of a collective with a time of each process cut between them.

    Parameters
    ----------
    messages
        In the order of every process.
    ranks
        The processes.
    seconds
        Of every process of the program.
    pace
        Of messages.
    """
    largest = max((_bytes(step) for step in messages), default=0.0)
    lasting = [_lasting(step, largest, pace) for step in messages]
    total = np.zeros(len(seconds))
    for step, long in zip(messages, lasting, strict=True):
        total[step.ranks] += long
    part = np.minimum(1.0, seconds / np.where(total > 0, total, np.inf))
    mixed: list[Step] = []
    for step, long in zip(messages, lasting, strict=True):
        mixed += _mixed(step, long * part[step.ranks])
    remaining = (seconds - part * total)[ranks]
    late = remaining > 0
    return [*mixed, *([_elapse(ranks[late], remaining[late])] if late.any() else [])]


def _bytes(step: Step) -> float:
    """Return the bytes that a step sends, or that go while it waits."""
    own = float(np.max(step.arguments.get("bytes", 0.0), initial=0.0))
    return own + sum(_bytes(post) for post in step.waits)


def _lasting(step: Step, largest: float, pace: Pace) -> float:
    """Return how long a step may wait; a receive does not say for how many bytes."""
    if step.op in ("isend", "irecv", "elapse") or step.is_signal:
        return 0.0
    return pace[0] + pace[1] * (largest if step.op == "recv" else _bytes(step))


def _mixed(step: Step, piece: Seconds) -> Iterator[Step]:
    """Yield a step, with what elapses between the post of its messages and the wait for them."""
    busy = piece > 0
    if not busy.any():
        yield step
        return
    names = {"send": ("isend",), "recv": ("irecv",), "sendrecv": ("irecv", "isend")}
    posts = tuple(_posted(name, step) for name in names.get(step.op, ()))
    yield from posts
    yield _elapse(step.ranks[busy], piece[busy])
    yield Step("waitall", step.ranks, {}, posts) if posts else step


def _posted(name: str, step: Step) -> Step:
    wanted = ("src",) if name == "irecv" else ("dst", "bytes")
    return Step(name, step.ranks, {key: step.arguments[key] for key in wanted})


def _elapse(ranks: Ranks, seconds: Seconds) -> Step:
    return Step("elapse", ranks, {"seconds": seconds})
