"""What the solvers cost and take for granted, told without solving: for ``parcast advise``.

The seconds are measured: medians of one core of a server of 2023, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Query
from parcast.model import PhaseValues
from parcast_spmd.models.demands import contention_level

#: Seconds for a phase that has an exact answer, for one whose random bursts are played, for
#: one that is played and constant, and to load the kernel that plays.
_SOLVED, _PLAYED, _STEPPED, _LOADED = 3e-4, 0.1, 0.01, 1.0

#: Fewer cycles than this are no steady state.
_FEW = 10


def of_formulas(query: Query) -> float:
    """Return the seconds that an analytic model takes: it solves phase by phase."""
    return _SOLVED * len(query.workload.content.phase)


def of_playing(query: Query) -> float:
    """Return the seconds that playing takes."""
    phases = query.workload.content.at(query)
    return _LOADED + sum(_PLAYED if _variance(one) else _STEPPED for one in phases)


def of_sio(query: Query) -> Iterator[Assumption]:
    """Yield what equation 16 takes for granted."""
    yield from _of_network(query)
    if getattr(query.options, "sio", "auto") in ("auto", "eq16") and _random(query):
        laws = {one.distribution.law for one in query.workload.content.at(query)} - {"exp"}
        yield Assumption(
            "bursts before an I/O are exponential, and geometric in number (eq. 16)",
            f"their law is {' and '.join(sorted(laws))}" if laws else "",
        )


def of_aio(query: Query) -> Iterator[Assumption]:
    """Yield what mean values of product form take for granted."""
    yield from _of_network(query)
    phases = query.workload.content.at(query)
    few = [one for one in phases if one.cycles < _FEW]
    yield Assumption(
        "phases have many cycles, and nobody waits for the last process at the end",
        f"{few[0].name} has only {few[0].cycles:g}" if few and query.p > 1 else "",
    )
    yield Assumption(
        "passages of network and disk are exponential (product form)",
        "" if _random(query) else "bursts are constant",
    )


def of_mixed(query: Query) -> tuple[Assumption, ...]:
    """Return what the models of the phases take for granted."""
    kinds = {one.io for one in query.workload.content.at(query)}
    told = [of for kind, of in (("sync", of_sio), ("async", of_aio)) if kind in kinds]
    return tuple(dict.fromkeys(one for of in told for one in of(query)))


def of_bounds(query: Query) -> tuple[Assumption, ...]:
    """Return what the bounds take for granted."""
    return tuple(_of_network(query))


def of_sim(query: Query) -> Iterator[Assumption]:
    """Yield what the simulation takes for granted."""
    yield from _of_network(query)
    yield Assumption("who waits for whom is not followed, only how many wait for each other")


def _of_network(query: Query) -> Iterator[Assumption]:
    if any(one.messages or one.bytes for one in query.workload.content.at(query)):
        yield Assumption(
            "all processes send through one network, whose contention is one number w",
            "" if contention_level(query) is not None else "the machine states no w",
        )


def _random(query: Query) -> bool:
    return any(map(_variance, query.workload.content.at(query)))


def _variance(phase: PhaseValues) -> float:
    return phase.distribution.variance
