"""Layers of a piece one after another, with exchanges of other layers beside their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parcast_training.steps.segments import Repeat, Ring, Segment, Work, beside

_Rings = tuple[Ring, ...]


@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of one sort in a pass."""

    count: int
    work: float  #: seconds of a layer's kernels
    body: tuple[Segment, ...]  #: a layer's exchanges that wait for kernels and they for them
    gather: _Rings = ()  #: of a layer's weights
    reduce: _Rings = ()  #: of a layer's gradients


def layered(
    sorts: Sequence[Layers], *, before: _Rings = (), after: _Rings = (), overlap: bool
) -> tuple[Segment, ...]:
    """Return layers: each one's weights are gathered beside the one before it.

    Its gradients are reduced beside the one after; the first gathering and the last reduction
    have nothing beside them. What an output layer ``before`` them reduces is beside the first
    layer, and what one ``after`` them gathers beside the last.
    """
    if not any(layers.gather or layers.reduce for layers in sorts):
        return tuple(Repeat(a.count, (Work("kernels", a.work), *a.body)) for a in sorts)
    name = "gradients" if any(layers.reduce for layers in sorts) else "parameters"
    segments: list[Segment] = [*sorts[0].gather]
    previous: _Rings = before
    for number, layers in enumerate(sorts):
        following = sorts[number + 1].gather if number + 1 < len(sorts) else after

        def layer(rings: _Rings, of: Layers = layers) -> tuple[Segment, ...]:
            return (*beside(name, of.work, rings, overlap=overlap), *of.body)

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
        Repeat(a.count, (*beside("gradients", a.work, a.reduce, overlap=True), *a.body))
        for a in sorts
    )


def is_hidden(rings: Sequence[Ring], work: float) -> bool:
    """Return whether there are exchanges, and work beside them is no shorter."""
    wires = [ring.steps * ring.hop.wire for ring in rings if ring.steps]
    return all(wire > 0 for wire in wires) and 0 < sum(wires) <= work
