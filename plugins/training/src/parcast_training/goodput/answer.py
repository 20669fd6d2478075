"""All that ``parcast goodput`` answers: by each rule, by formula, by counting and by simulation."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import ParcastError, UnsupportedError
from parcast_training.goodput.command_options import Question
from parcast_training.goodput.durations import in_words, percent
from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.failures import failures_to_finish, failures_within, quantile_of
from parcast_training.goodput.intervals import INTERVALS, best_plan
from parcast_training.goodput.renewal import Moments, Shares, shares, time_to_finish
from parcast_training.goodput.simulation import simulate_finish, simulate_span

#: Failures that are drawn at most, of all runs together.
_DRAWN = 2e7
#: Fewer runs are none to tell quantiles by.
_LEAST = 200

#: What is shown of distributions.
LEVELS = (0.05, 0.5, 0.95)


@attrs.frozen(kw_only=True)
class Cut:
    """What an interval between checkpoints means."""

    by: str  #: the rule, or ``yours``
    interval: float  #: in seconds
    shares: Shares  #: in the long run
    finish: Moments | None  #: of work that ends, without waiting for spares


@attrs.frozen(kw_only=True)
class Distributed:
    """Quantiles by level, and the mean with its standard error, 0 where it is exact."""

    quantiles: Mapping[float, float]
    mean: float
    error: float = 0.0


@attrs.frozen(kw_only=True)
class Answer:
    """What is found; the simulation is of `best`."""

    question: Question
    cuts: tuple[Cut, ...]
    best: Cut  #: the interval that is asked for, or the exact optimum
    failures_to_finish: Distributed | None  #: exact
    failures_within: Distributed  #: the horizon; exact, but where the job waits for spares
    counted: bool  #: ``failures_within`` is exact
    finish: Distributed | None  #: simulated seconds
    useful: Distributed  #: simulated shares of the horizon
    waiting: Distributed  #: simulated shares of the horizon
    runs: int


def answer(question: Question, runs: int, seed: int) -> Answer:
    """Return what is asked.

    Raises
    ------
    UnsupportedError
        If a job fails so often that it is never done, or too many failures are to be drawn.
    """
    job = question.job
    computing = None if question.work is None else question.work / job.speed
    cuts, plans = _cuts(question, computing)
    best = next((cut for cut in cuts if cut.by == "yours"), cuts[0])
    plan = plans[best.by]
    runs = _affordable(question, best, runs)
    generator = np.random.default_rng([seed, 1])
    span = simulate_span(job, best.interval, question.horizon, runs, generator)
    within = failures_within(job, question.horizon)
    counted = job.spares is None
    finish = before = None
    if plan is not None:
        drawn, _ = simulate_finish(job, plan, runs, np.random.default_rng([seed, 2]))
        finish, before = _of_sample(drawn), _of_counts(failures_to_finish(job, plan))
    return Answer(
        question=question,
        cuts=cuts,
        best=best,
        failures_to_finish=before,
        failures_within=_of_counts(within) if counted else _of_sample(span.failures),
        counted=counted,
        finish=finish,
        useful=_of_sample(span.useful),
        waiting=_of_sample(span.waiting),
        runs=runs,
    )


def _affordable(question: Question, best: Cut, runs: int) -> int:
    """Return as many runs as are simulated in some seconds, where each has very many failures.

    Raises
    ------
    UnsupportedError
        If that is too few to tell quantiles by.
    """
    longest = max(question.horizon, 0.0 if best.finish is None else best.finish.mean)
    failures = longest / question.job.mtbf
    if failures * _LEAST > _DRAWN:
        done = "" if best.finish is None else f", and done in {in_words(best.finish.mean)}"
        raise UnsupportedError(
            f"{failures:,.0f} failures are too many to simulate; state a shorter --horizon, or "
            f"less work (in the long run {percent(best.shares.useful)} of the time is useful, "
            f"with a checkpoint every {in_words(best.interval)}{done}: exact)"
        )
    return min(runs, int(_DRAWN / failures))


def _cuts(
    question: Question, computing: float | None
) -> tuple[tuple[Cut, ...], Mapping[str, Plan | None]]:
    """Return what each rule's interval means, and its plan for work that ends."""
    job, cuts, plans = question.job, list[Cut](), dict[str, Plan | None]()
    if job.checkpoint == 0 and question.interval is None:
        raise ParcastError("--checkpoint 0 has no optimal interval, as the shorter is the better; "
                           "state an --interval")  # fmt: skip
    rules = {} if job.checkpoint == 0 else dict(INTERVALS)
    intervals = {name: rule(job) for name, rule in rules.items()}
    if question.interval is not None:
        intervals["yours"] = question.interval
    for name, interval in intervals.items():
        if interval <= 0:
            continue  # Daly's first order, where a checkpoint takes twice the mtbf
        plan = None
        if computing is not None:
            exact = name == "exact optimum"
            plan = best_plan(job, computing) if exact else Plan.of(computing, interval)
        cut = _cut(job, name, interval if plan is None else plan.interval, plan)
        if cut is not None:
            cuts.append(cut)
            plans[name] = plan
    if not cuts:
        raise UnsupportedError("no interval is ever done: a checkpoint and a restart take many "
                               "times as long as the job runs without failure")  # fmt: skip
    return tuple(cuts), plans


def _cut(job: FailingJob, name: str, interval: float, plan: Plan | None) -> Cut | None:
    """Return what an interval means; None where a rule's own is never done."""
    try:
        return Cut(
            by=name,
            interval=interval,
            shares=shares(job, interval),
            finish=None if plan is None else time_to_finish(job, plan),
        )
    except UnsupportedError:
        if name == "yours":
            raise
        return None


def _of_counts(probabilities: NDArray[np.float64]) -> Distributed:
    return Distributed(
        quantiles={level: quantile_of(probabilities, level) for level in LEVELS},
        mean=float(probabilities @ np.arange(len(probabilities))),
    )


def _of_sample(values: NDArray[np.float64] | NDArray[np.int64]) -> Distributed:
    return Distributed(
        quantiles={level: float(np.quantile(values, level)) for level in LEVELS},
        mean=float(values.mean()),
        error=float(values.std(ddof=1) / np.sqrt(len(values))),
    )
