"""What an answer assumes, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

from parcast.quantities import format_seconds
from parcast_spmd.models.constant_bursts import rounds
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.phase_answer import Answer
from parcast_spmd.options import APPROXIMATIONS
from parcast_spmd.simulation.solver import geometric, is_steady

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

_BY_MODEL = frozenset({"eq16", "ctmc"})
_PRODUCT_FORM_METHODS = frozenset({"mva", "integral", *APPROXIMATIONS})
_OF_METHOD = {
    "asymptotic": (_LOWER,),
    "balanced-job": (_LOWER, _PRODUCT_FORM_BOUNDS),
    "unequal": (_UNEQUAL,),
    "unequal-approximate": (_UNEQUAL, _NOT_EXACT),
}


def notes(phases: Sequence[Demands], found: Sequence[Answer]) -> tuple[str, ...]:
    """Return what the answers of all phases assume, each sentence once."""
    said, uncertain = [], False
    for phase, one in zip(phases, found, strict=True):
        said += _of_phase(phase, one)
        uncertain |= one.method in _BY_MODEL and (phase.groups > 1 or phase.joining > 0)
    if uncertain:
        said.insert(0, _pessimism(list(zip(phases, found, strict=True))))
    return tuple(dict.fromkeys(said))


def _of_phase(phase: Demands, one: Answer) -> list[str]:
    """Return what one phase's answer assumes."""
    method = one.method
    if method in _BY_MODEL:
        return [_WITHIN_GROUP] if phase.distribution.law != "exp" else []
    if method == "delay":
        uncounted = phase.model != "sio" and phase.groups > 1 and not phase.constant
        return [_STEADY] if uncounted else []
    if method in _PRODUCT_FORM_METHODS:
        steady = [_STEADY] if phase.groups > 1 and not phase.constant else []
        return [*steady, *_of_product_form(phase, method)]
    if method == "simulation":
        return _of_play(phase)
    if method == "fixed-cycles":
        open_law = phase.options.service is None and not phase.constant
        asked = phase.model == "sio" and phase.shared and one.sampled
        return [_EXPONENTIAL] if asked and open_law else []
    return list(_OF_METHOD.get(method, ()))


def _of_product_form(phase: Demands, method: str) -> list[str]:
    said = []
    if method in APPROXIMATIONS:
        said = [_OUTSIDE, _APPROXIMATE] if method != phase.options.aio else [_APPROXIMATE]
    return [*said, _PRODUCT_FORM] if phase.constant else said


def _of_play(phase: Demands) -> list[str]:
    steady = phase.model != "sio" and is_steady(phase)
    said = [_STEADY] if steady and phase.groups > 1 and not phase.constant else []
    return [*said, _PLAYED] if geometric(phase) else said


def _pessimism(pairs: Sequence[tuple[Demands, Answer]]) -> str:
    """Return how many times longer the paper's model takes than constant bursts."""
    whole = sum(one.time for _, one in pairs)
    constant = sum(
        _with_constant_bursts(phase) if one.method in _BY_MODEL else one.time
        for phase, one in pairs
    )
    factor = whole / constant
    model = "eq. 16" if any(one.method == "eq16" for _, one in pairs) else "the paper's model"
    return (
        f"{model} takes bursts as exponential and their number as geometric, which takes about "
        f"{factor:.2g} times what constant bursts take; a balanced code is between "
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
