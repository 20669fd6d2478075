"""Layers of a piece one after another, with exchanges of other layers beside their kernels."""

from __future__ import annotations

from collections.abc import Sequence

from parcast_training.steps.segments import Repeat, Ring, Segment, Work, beside

_Rings = tuple[Ring, ...]


def layered(
    count: int,
    work: float,
    body: tuple[Segment, ...],
    *,
    gather: _Rings = (),
    reduce: _Rings = (),
    before: _Rings = (),
    after: _Rings = (),
    overlap: bool,
) -> tuple[Segment, ...]:
    """Return layers: each one's weights are gathered beside the one before it.

    Its gradients are reduced beside the one after; the first gathering and the last reduction
    have nothing beside them. What an output layer ``before`` them reduces is beside the first
    layer, and what one ``after`` them gathers beside the last.
    """
    if not gather and not reduce:
        return (Repeat(count, (Work("kernels", work), *body)),)
    name = "gradients" if reduce else "parameters"

    def layer(*rings: Ring) -> tuple[Segment, ...]:
        return (*beside(name, work, rings, overlap=overlap), *body)

    if count == 1:
        return (*gather, *layer(*before, *after), *reduce)
    middle = Repeat(count - 2, layer(*gather, *reduce))
    return (
        *gather,
        *layer(*gather, *before),
        *((middle,) if count > 2 else ()),
        *layer(*reduce, *after),
        *reduce,
    )


def repeated(
    count: int, work: float, body: tuple[Segment, ...], reduce: _Rings
) -> tuple[Segment, ...]:
    """Return layers, each beside the reduction of a layer of another piece."""
    return (Repeat(count, (*beside("gradients", work, reduce, overlap=True), *body)),)


def is_hidden(rings: Sequence[Ring], work: float) -> bool:
    """Return whether there are exchanges, and work beside them is no shorter."""
    wires = [ring.steps * ring.hop.wire for ring in rings if ring.steps]
    return all(wire > 0 for wire in wires) and 0 < sum(wires) <= work
