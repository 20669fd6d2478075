"""What an answer assumes, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from parcast.units import format_seconds
from parcast_spmd.constant import rounds
from parcast_spmd.cycles import Answer
from parcast_spmd.demands import Demands

OPEN_LEVEL = (
    "the machine states no contention level w: the time is at w = 1/2, the bounds at 0 and 1"
)
_GEOMETRIC = "eq. 16 takes bursts as exponential and their number as geometric"
_STEADY = (
    "asynchronous phases are in steady state: waiting for the last process at the end is not "
    "counted, so few cycles take longer"
)
_WITHIN_GROUP = (
    "bursts are of the workload's law within a synchronized group, exponential between groups"
)
_PRODUCT_FORM = (
    "constant bursts queue as exponential ones at network and disk (product form), which is "
    "good over many cycles; the lower bound is certain"
)
_AS_PLAYED = (
    "bursts are played as the paper has them, exponential and geometric in number "
    "(spmd.sim.bursts=fixed plays exactly as many as the workload says)"
)


def notes(phases: Sequence[Demands], found: Sequence[Answer]) -> tuple[str, ...]:
    """Return what the answers of all phases assume, each sentence once."""
    pairs = list(zip(phases, found, strict=True))
    by_model = [phase for phase, one in pairs if one.method in {"eq16", "ctmc"}]
    uncertain = [phase for phase in by_model if phase.groups > 1 or phase.joining]
    product_form = [phase for phase, one in pairs if one.method in {"mva", "integral"}]
    said = {
        _pessimism(pairs) if uncertain else "": bool(uncertain),
        _WITHIN_GROUP: any(phase.distribution.law != "exp" for phase in by_model),
        _STEADY: any(phase.groups > 1 and not phase.constant for phase in product_form),
        _PRODUCT_FORM: any(phase.constant for phase in product_form),
    }
    return tuple(note for note, applies in said.items() if applies)


def _pessimism(pairs: Sequence[tuple[Demands, Answer]]) -> str:
    """Return how many times longer the paper's model takes than constant bursts."""
    whole = sum(one.time for _, one in pairs)
    constant = sum(
        _with_constant_bursts(phase) if one.method in {"eq16", "ctmc"} else one.time
        for phase, one in pairs
    )
    factor = whole / constant
    times = f"about {factor:.1g} times" if factor >= 1.5 else "up to 1.5 times"
    return (
        f"{_GEOMETRIC}, which takes {times} what constant bursts take; a balanced code is between "
        "(spmd.sio.method=fixed-cycles)"
    )


def _with_constant_bursts(phase: Demands) -> float:
    """Return the time of a synchronous phase in which nothing varies, exactly."""
    cycle = rounds(phase.groups, phase.compute + phase.free, phase.shared, phase.bursts)
    return phase.cycles * (cycle.time + phase.io)


def sampled_levels(free: float, bus: float) -> str:
    """Return the note on an open contention level whose ends were sampled too."""
    low, high = format_seconds(free), format_seconds(bus)
    return (
        "the machine states no contention level w: the time is at w = 1/2; at 0 and 1 it is "
        f"about {low} and {high}"
    )
