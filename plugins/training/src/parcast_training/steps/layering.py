"""Layers of a piece one after another, with exchanges of other layers beside their kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from parcast_training.steps.segments import Repeat, Ring, Segment, Work, beside

_Rings = tuple[Ring, ...]


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of one sort in a pass."""

    count: int
    work: float  #: seconds of a layer's kernels
    body: tuple[Segment, ...]  #: a layer's exchanges that wait for kernels and they for them
    deal: _Rings = ()  #: one dealing of tokens to experts, or back
    deals: int = 2  #: how many of them a layer has
    gather: _Rings = ()  #: of a layer's weights
    reduce: _Rings = ()  #: of a layer's gradients

    @property
    def exchanges(self) -> tuple[Segment, ...]:
        """What waits for kernels, experts' among it."""
        return (*self.body, Repeat(self.deals, self.deal)) if self.deal else self.body


def layered(
    sorts: Sequence[Layers], *, before: _Rings = (), after: _Rings = (), overlap: bool
) -> tuple[Segment, ...]:
    """Return layers: each one's weights are gathered beside the one before it.

    Its gradients are reduced beside the one after; the first gathering and the last reduction
    have nothing beside them. What an output layer ``before`` them reduces is beside the first
    layer, and what one ``after`` them gathers beside the last.
    """
    if not any(layers.gather or layers.reduce for layers in sorts):
        return tuple(Repeat(a.count, (Work("kernels", a.work), *a.exchanges)) for a in sorts)
    name = "gradients" if any(layers.reduce for layers in sorts) else "parameters"
    segments: list[Segment] = [*sorts[0].gather]
    previous: _Rings = before
    for number, layers in enumerate(sorts):
        following = sorts[number + 1].gather if number + 1 < len(sorts) else after

        def layer(rings: _Rings, of: Layers = layers) -> tuple[Segment, ...]:
            return (*beside(name, of.work, rings, overlap=overlap), *of.exchanges)

        if layers.count == 1:
            segments += layer((*previous, *following))
        else:
            segments += layer((*layers.gather, *previous))
            if layers.count > 2:
                middle = layer((*layers.gather, *layers.reduce))
                segments.append(Repeat(layers.count - 2, middle))
            segments += layer((*layers.reduce, *following))
        previous = layers.reduce
    return (*segments, *sorts[-1].reduce)


def repeated(sorts: Sequence[Layers]) -> tuple[Segment, ...]:
    """Return layers, each beside the reduction of a layer of another piece."""
    return tuple(
        Repeat(a.count, (*beside("gradients", a.work, a.reduce, overlap=True), *a.exchanges))
        for a in sorts
    )


def paired(forward: Sequence[Layers], backward: Sequence[Layers]) -> tuple[Segment, ...]:
    """Return layers of two microbatches at once, one of each beside the other.

    Dealings of both are beside kernels of both (DeepSeek-V3, arXiv 2412.19437, figure 4). What one
    has more of is by itself.
    """
    segments = list[Segment]()
    ahead, back = deque(forward), deque(backward)
    while ahead and back:
        f, b = ahead.popleft(), back.popleft()
        count = min(f.count, b.count)
        rings = (*f.deal * f.deals, *b.deal * b.deals)
        kernels = beside("expert parallel", f.work + b.work, rings, overlap=True)
        segments.append(Repeat(count, (*kernels, *f.body, *b.body)))
        for layers, queue in ((f, ahead), (b, back)):
            if layers.count > count:
                queue.appendleft(replace(layers, count=layers.count - count))
    return (*segments, *layered([*ahead, *back], overlap=False))


def is_hidden(rings: Sequence[Ring], work: float) -> bool:
    """Return whether there are exchanges, and work beside them is no shorter."""
    wires = [ring.steps * ring.hop.wire for ring in rings if ring.steps]
    return all(wire > 0 for wire in wires) and 0 < sum(wires) <= work
