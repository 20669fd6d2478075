"""What an answer assumes, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from parcast.units import format_seconds
from parcast_spmd.constant import rounds
from parcast_spmd.cycles import Answer
from parcast_spmd.demands import Demands
from parcast_spmd.options import APPROXIMATIONS
from parcast_spmd.sim import geometric, is_steady

OPEN_LEVEL = (
    "the machine states no contention level w: the time is at w = 1/2, the bounds at 0 and 1"
)
_EXPONENTIAL = (
    "passages of the network are exponential here; the workload says nothing of them (option "
    "service)"
)
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
_PLAYED = (
    "the paper's model is played: delays drawn as a whole, bursts geometric in number "
    "(spmd.sim.bursts=fixed plays exactly as many as the workload says)"
)
_APPROXIMATE = "an approximation was asked for; method=exact costs little more"
_OUTSIDE = (
    "the approximation left the bounds that are proven for the exact answer, so Bard and "
    "Schweitzer's is given"
)
_LOWER = "the time is the lower bound"
_PRODUCT_FORM_BOUNDS = (
    "balanced-job bounds hold for means in steady state with exponential passages and accesses"
)
_NOT_EXACT = "classes of processes share too much for an exact answer: an approximation is given"
_UNEQUAL = (
    "processes that differ end at different times: each set of those left is in steady state "
    "until the next ends, its passages and accesses queuing as exponential ones"
)


def notes(phases: Sequence[Demands], found: Sequence[Answer]) -> tuple[str, ...]:
    """Return what the answers of all phases assume, each sentence once."""
    pairs = list(zip(phases, found, strict=True))
    by_model = [phase for phase, one in pairs if one.method in {"eq16", "ctmc"}]
    uncertain = [phase for phase in by_model if phase.groups > 1 or phase.joining]
    by_network = {"mva", "integral", *APPROXIMATIONS}
    product_form = [phase for phase, one in pairs if one.method in by_network]
    steady = [
        *product_form,
        *(
            phase
            for phase, one in pairs
            if phase.model != "sio" and one.method == "simulation" and is_steady(phase)
        ),
    ]
    said = {
        _pessimism(pairs) if uncertain else "": bool(uncertain),
        _WITHIN_GROUP: any(phase.distribution.law != "exp" for phase in by_model),
        _STEADY: any(phase.groups > 1 and not phase.constant for phase in steady),
        _OUTSIDE: any(
            one.method != phase.options.aio for phase, one in pairs if one.method in APPROXIMATIONS
        ),
        _APPROXIMATE: any(one.method in APPROXIMATIONS for _, one in pairs),
        _LOWER: any(one.method in {"asymptotic", "balanced-job"} for _, one in pairs),
        _PRODUCT_FORM_BOUNDS: any(one.method == "balanced-job" for _, one in pairs),
        _UNEQUAL: any(one.method.startswith("unequal") for _, one in pairs),
        _EXPONENTIAL: any(
            phase.model == "sio"
            and phase.shared
            and one.sampled
            and one.method == "fixed-cycles"
            and phase.options.service is None
            and not phase.constant
            for phase, one in pairs
        ),
        _NOT_EXACT: any(one.method == "unequal-approximate" for _, one in pairs),
        _PLAYED: any(one.method == "simulation" and geometric(phase) for phase, one in pairs),
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
    model = "eq. 16" if any(one.method == "eq16" for _, one in pairs) else "the paper's model"
    return (
        f"{model} takes bursts as exponential and their number as geometric, which takes {times} "
        "what constant bursts take; a balanced code is between (spmd.sio.method=fixed-cycles)"
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
