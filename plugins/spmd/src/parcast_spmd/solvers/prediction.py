"""The prediction made of the answers of all phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import attrs

from parcast import Prediction, Query, SolveError, Status
from parcast.quantities import format_seconds
from parcast_spmd.models.demands import Demands, not_used
from parcast_spmd.models.phase_answer import Answer

_OPEN_LEVEL = (
    "the machine states no contention level w: the time is at w = 1/2, the bounds at 0 and 1"
)

_TOGETHER = (
    "each exchange takes as long as its fullest link is busy: too short where processes drift "
    "apart, too long where some need not wait for the others"
)

#: Where all together queue for less than this of one transfer, no link is named.
_NOTED = 0.01

#: Methods that leave nothing to bound
_CERTAIN = frozenset({"constant", "delay"})


@attrs.frozen
class Range:
    """From where to where a time may be, and why: no proven bounds."""

    lower: float
    upper: float
    why: str


def predict(
    query: Query,
    variants: Sequence[Sequence[Demands]],
    answers: Sequence[Sequence[Answer]],
    notes: tuple[str, ...],
    between: Range | None = None,
) -> Prediction:
    """Return the prediction of the phases one after the other.

    Parameters
    ----------
    query
        What was solved.
    variants, answers
        Of all phases, at the contention level; where that is open at 1/2, 0 and 1.
    notes
        What the answers assume.
    between
        What is known of codes that the models take as random.

    Raises
    ------
    SolveError
        If the times overflow.
    """
    phases, middle = variants[0], answers[0]
    time = _total(middle)
    if not math.isfinite(time):
        raise SolveError("the times overflow; check the units of workload and machine")
    lower, upper = _bounds(middle)
    notes = (*notes, *not_used(query), *_derived_levels(phases))
    if between is not None:
        notes = (between.why, *notes)
    if len(variants) > 1 and any(phase.shared for phase in phases):
        free, bus = answers[1], answers[2]
        if any(answer.sampled for answer in (*middle, *free, *bus)):
            notes = (*notes, _sampled_levels(_total(free), _total(bus)))
        else:
            lower, upper = _lower(free), _upper(bus)
            notes = (*notes, _OPEN_LEVEL)
    return Prediction(
        time=time,
        parts=reduce(add, [answer.parts for answer in middle]),
        lower=lower,
        upper=upper,
        binding=max(middle, key=lambda answer: answer.time).binding if time else None,
        notes=notes,
        details={
            "phases": [_details(*pair) for pair in zip(phases, middle, strict=True)],
            **({"range": [between.lower, between.upper]} if between else {}),
        },
        **_spread(time, middle),
    )


def _derived_levels(phases: Sequence[Demands]) -> list[str]:
    """Return notes on contention levels that follow from what links carry."""
    levels = [
        f"w = {level:.3g}, the part of transfers that queues, is that of the fullest link, {link}"
        for level, link in dict.fromkeys(
            (phase.level, phase.link)
            for phase in phases
            if phase.link and phase.level * phase.groups > _NOTED
        )
    ]
    return [*levels, _TOGETHER] if levels else []


def _total(answers: Sequence[Answer]) -> float:
    return sum(answer.time for answer in answers)


def _bounds(answers: Sequence[Answer]) -> tuple[float | None, float | None]:
    """Return what is proven of the whole, if there is more to say than the time."""
    open_answers = [answer for answer in answers if answer.method not in _CERTAIN]
    bounded_below = {answer.lower is not None for answer in open_answers} == {True}
    bounded_above = {answer.upper is not None for answer in open_answers} == {True}
    return _lower(answers) if bounded_below else None, _upper(answers) if bounded_above else None


def _lower(answers: Sequence[Answer]) -> float:
    return sum(answer.time if answer.lower is None else answer.lower for answer in answers)


def _upper(answers: Sequence[Answer]) -> float:
    return sum(answer.time if answer.upper is None else answer.upper for answer in answers)


def _spread(time: float, answers: Sequence[Answer]) -> dict[str, Any]:
    """Return deviation, interval and status where phases were sampled independently."""
    samples = [answer.sampled for answer in answers if answer.sampled is not None]
    if not samples:
        return {}
    half = math.hypot(*(sample.half for sample in samples))
    deviations = [sample.std for sample in samples if sample.std is not None]
    spread: dict[str, Any] = {
        "ci": (time - half, time + half),
        "std": math.hypot(*deviations) if len(deviations) == len(answers) else None,
    }
    if not all(sample.converged for sample in samples):
        spread["status"] = Status.NOT_CONVERGED
        spread["message"] = (
            f"the 95 % interval is {half / time:.2%} of the time to either side and wider than "
            "asked, or the run too short to tell; allow more bursts or a larger tolerance"
        )
    return spread


def _details(phase: Demands, answer: Answer) -> dict[str, object]:
    return {
        "model": phase.model,
        "method": answer.method,
        "time": answer.time,
        "binding": answer.binding,
        "utilization": dict(answer.utilization),
        "distribution": phase.distribution.law,
        "variance": phase.variance,
        "equal": phase.uneven is None,
        "cycles": phase.cycles,
        "bursts": phase.bursts,
        "groups": phase.groups,
        "members": phase.members,
        "disks": phase.disks,
        "compute": phase.compute,
        "delay": phase.delay,
        "network_service": phase.shared,
        "io_service": phase.io,
        **(answer.sampled.details if answer.sampled else {}),
    }


def _sampled_levels(free: float, bus: float) -> str:
    """Return the note on an open contention level whose ends were sampled too."""
    low, high = format_seconds(free), format_seconds(bus)
    return (
        "the machine states no contention level w: the time is at w = 1/2; at 0 and 1 it is "
        f"about {low} and {high}"
    )
