"""Terms that a program or recorded runs propose: the parts of its time over p, as a model has them.

How large a part is, the measured times tell; only its course over p is the model's. So a part that
bends where a network fills is a term like those of the field, before any time beyond is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parcast.errors import UnsupportedError
from parcast_scaling.mechanisms import MECHANISMS, Floats, Mechanism

if TYPE_CHECKING:
    from parcast import Registry, Row

#: What is known of a term that is proposed: likelier than the field's, as large as they are.
_CHANCE, _WEIGHT = 0.6, 0.6

#: A part that is less of the time than this everywhere proposes nothing.
_LEAST = 1e-3

_PARTS = ("compute", "communication", "io", "synchronization")


def with_proposed(
    registry: Registry, sources: Sequence[str], machine: Any, sizes: Sequence[float]
) -> tuple[Mechanism, ...]:
    """Return the field's terms, and those that sources propose.

    Parameters
    ----------
    registry
        Whose plugins read and predict the sources.
    sources
        A program or another workload that can be asked at any p; or recorded runs of one code, each
        at another p.
    machine
        What they run on.
    sizes
        Measured p, and those to be predicted.

    Raises
    ------
    UnsupportedError
        If no solver predicts the parts of a program's time, or runs are too few for formulas of p.
    """
    recorded = [source for source in sources if registry.workload(source).processes is not None]
    programs = [source for source in sources if source not in recorded]
    terms = [term for source in programs for term in _of_program(registry, source, machine, sizes)]
    terms += _of_runs(registry, recorded, machine, sizes) if recorded else []
    return (*MECHANISMS[:-1], *terms, MECHANISMS[-1])  # the last keeps its exponent


def _of_program(
    registry: Registry, source: str, machine: Any, sizes: Sequence[float]
) -> list[Mechanism]:
    """Return a term for each part of the time that the first solver with an answer predicts."""
    p = _doublings(min(sizes), max(sizes))
    for solver in _able(registry, source, machine, p):
        rows = registry.compare(source, machine, p=p, solvers=[solver], elasticities=False).rows
        if len(rows) == len(p) and all(row.parts and row.parts.total > 0 for row in rows):
            return _terms_of(rows)
    raise UnsupportedError(
        f"no solver predicts the parts of {source} on {machine} at p = {p[0]} to {p[-1]}, so that "
        f"it proposes no terms; see parcast compare {source} {machine} -p {p[-1]}, or leave it out"
    )


def _able(registry: Registry, source: str, machine: Any, p: Sequence[int]) -> Iterator[str]:
    """Yield the solvers that predict the largest size by parts, those of closed form first."""
    closed = ["spmd"] if "spmd" in registry.families else []
    for solvers in (*closed, None):  # all others simulate, and are asked only where they must be
        rows = registry.compare(
            source, machine, p=[p[-1]], solvers=solvers, elasticities=False
        ).rows
        yield from (row.solver for row in rows if row.parts and row.parts.total > 0)


def _doublings(low: float, high: float) -> list[int]:
    """Return p from the largest power of 2 up to the low end, to the high one."""
    first = 2 ** int(np.floor(np.log2(low)))
    steps = int(np.ceil(np.log2(high / first) - 1e-9))
    return [first * 2**step for step in range(steps)] + [int(high)]


def _terms_of(rows: Sequence[Row]) -> list[Mechanism]:
    p = np.array([row.p for row in rows], dtype=float)
    terms = []
    for part in _PARTS:
        seconds = np.array([getattr(row.parts, part) for row in rows])
        total = np.array([row.parts.total for row in rows if row.parts])
        if (seconds / total).max() >= _LEAST and seconds[1:].all():  # one process may send nothing
            terms.append(_term(f"{part} of {rows[0].workload}", p, seconds, part == "compute"))
    return terms


def _of_runs(
    registry: Registry, runs: Sequence[str], machine: Any, sizes: Sequence[float]
) -> list[Mechanism]:
    """Return a term for each amount that recorded runs have as a formula of p that is not alone."""
    from parcast_scaling.amounts import scaling
    from parcast_scaling.runs import amounts_of

    where = ", ".join(runs)
    at = _doublings(min(sizes), max(sizes))
    terms: dict[tuple[float, ...], Mechanism] = {}
    for amount in scaling(amounts_of(registry, runs, machine), at=at, where=where).amounts:
        if amount.formula is None:
            raise UnsupportedError(f"{where}: {amount.column}: {amount.message}; give more sizes")
        values = np.array([point.value for point in amount.predictions])
        if values.any() and np.ptp(values) > 0 and values[1:].all():  # none where all are 0
            course = tuple(np.round(values / values[-1], 9))  # a message and its bytes are one term
            alone = amount.column == "flops"
            terms.setdefault(course, _term(amount.column, np.array(at, dtype=float), values, alone))
    return list(terms.values())


def _term(name: str, p: Floats, values: Floats, alone: bool) -> Mechanism:
    """Return a term with those values, and powers of p between them."""
    logs = np.log(np.maximum(values, 1e-300))  # nothing is sent by one process

    def course(x: Floats, n: Floats) -> Floats:  # noqa: ARG001
        between: Floats = np.exp(np.interp(np.log(x), np.log(p), logs))
        return between

    return Mechanism(name, name, course, _CHANCE, _WEIGHT, alone)
