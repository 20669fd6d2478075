"""``parcast scaling`` of times: from the options to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.cli import print_json
from parcast.errors import ParcastError
from parcast.files import check_file, write_text
from parcast.quantities import parse_numbers
from parcast_scaling.curves import Bound
from parcast_scaling.forecast import Forecast, forecast
from parcast_scaling.forecast_texts import (
    print_enough,
    print_forecast,
    print_measured,
    print_proposals,
    print_work,
)
from parcast_scaling.isoefficiency import NeededWork, WorkAndSize, isoefficiency
from parcast_scaling.limits import machine_bound
from parcast_scaling.measuring import Measured, measure
from parcast_scaling.prior import Prior
from parcast_scaling.reading import Times
from parcast_scaling.rises import Rises
from parcast_scaling.scope import Scope, scope_beside
from parcast_scaling.times import Run, check
from parcast_scaling.work import Work, with_work
from parcast_scaling.worth import Proposal, worth_measuring

if TYPE_CHECKING:
    from parcast import Registry

#: How far beyond the largest measured p the curve is shown.
_REACH = 16


@attrs.frozen(kw_only=True)
class Wanted:
    """The options of ``parcast scaling`` for times."""

    p: str | None
    to: int | None
    machine: str | None
    scope: Scope  #: by options
    sources: tuple[str, ...]  #: programs or traces that propose terms
    hold_out: str | None
    weak: bool
    efficiency: float
    worth_measuring: int
    narrow_to: float  #: the band that is wanted, its upper end over its lower one
    measure: str | None  #: a command that measures what is worth it
    measure_to: int | None
    seed: int


@attrs.frozen(kw_only=True)
class Question:
    """What is asked of which runs."""

    times: Times
    wanted: Wanted
    runs: tuple[Run, ...]  #: that are used
    left_out: tuple[Run, ...]  #: that are only predicted
    sizes: tuple[float, ...]  #: p to predict
    goal: float  #: the p whose band the runs that are worth measuring narrow
    work: Work
    prior: Prior
    bound: Bound | None

    def propose(self, runs: Sequence[Run], count: int) -> tuple[Proposal, ...]:
        """Return the runs that are worth measuring beside others."""
        return worth_measuring(
            runs,
            self.goal,
            count,
            work=self.work,
            seed=self.wanted.seed,
            most=self.wanted.measure_to,
            prior=self.prior,
            enough=self.wanted.narrow_to,
        )


@attrs.frozen(kw_only=True)
class Answers:
    """All that is shown."""

    curve: Forecast
    by_work: WorkAndSize | None
    measured: tuple[Measured, ...]
    proposals: tuple[Proposal, ...]

    @property
    def needed(self) -> tuple[NeededWork, ...]:
        """The work that keeps the efficiency, where work differs."""
        return self.by_work.needed if self.by_work else ()


def show_forecast(
    registry: Registry, times: Times, wanted: Wanted, *, json: bool, output: Path | None
) -> int:
    """Print the curve beyond the measured times, and write its plot."""
    if output is not None:
        check_file(output, "a plot", [".html"])
    question = _question(registry, times, wanted)
    question, measured = _measure(question)
    count = wanted.worth_measuring if wanted.measure is None else 0
    proposals = question.propose(question.runs, count)
    answers = _answers(question, measured, proposals)
    if json:
        print_json(_plain(question, answers))
    else:
        _print_answers(question, answers)
    if output is not None:
        from parcast_scaling.plot import page

        html = page(answers.curve, times.counts, question.left_out, answers.by_work, proposals)
        write_text(output, html)
    return 0


def _question(registry: Registry, times: Times, wanted: Wanted) -> Question:
    """Return what is asked, checked."""
    if wanted.measure is not None and not wanted.worth_measuring:
        raise ParcastError("--measure needs --worth-measuring: how many runs to measure")
    times, work = with_work(times, weak=wanted.weak)
    runs, left_out = _held_out(times, wanted.hold_out)
    sizes = _sizes(runs, left_out, wanted)
    prior = _prior(registry, times, wanted, [*sizes, *(run.p for run in runs)])
    bound = None if wanted.sources else machine_bound(registry, times, wanted.machine)
    check(runs, times.where)
    smallest = min(run.p for run in runs)
    if wanted.measure_to is not None and wanted.measure_to < smallest:
        raise ParcastError(
            f"--measure-to {wanted.measure_to}: the smallest measured p is {smallest:g}; write it "
            "or a larger one"
        )
    return Question(
        times=times,
        wanted=wanted,
        runs=tuple(runs),
        left_out=tuple(left_out),
        sizes=tuple(sizes),
        goal=max(*sizes, 2 * max(run.p for run in runs)),
        work=work,
        prior=prior,
        bound=bound,
    )


def _measure(question: Question) -> tuple[Question, tuple[Measured, ...]]:
    """Return the question with the runs that a command measures, where there is one."""
    wanted = question.wanted
    if wanted.measure is None:
        return question, ()
    used = attrs.evolve(question.times, runs=question.runs)
    used, measured = measure(
        used, wanted.measure, wanted.worth_measuring, partial(question.propose, count=1),
        question.work,
    )  # fmt: skip
    sizes = sorted({*question.sizes, *(each.run.p for each in measured)})
    return attrs.evolve(question, runs=used.runs, sizes=tuple(sizes)), measured


def _answers(
    question: Question, measured: tuple[Measured, ...], proposals: tuple[Proposal, ...]
) -> Answers:
    times, wanted = question.times, question.wanted
    curve = forecast(
        question.runs,
        question.sizes,
        work=question.work,
        target=wanted.efficiency,
        where=times.where,
        seed=wanted.seed,
        bound=question.bound,
        prior=question.prior,
    )
    by_work = None
    if times.varies:
        by_work = isoefficiency(question.runs, question.sizes, wanted.efficiency, seed=wanted.seed)
    return Answers(
        curve=attrs.evolve(curve, remarks=(*times.remarks, *_killed(times), *curve.remarks)),
        by_work=by_work,
        measured=measured,
        proposals=proposals,
    )


def _killed(times: Times) -> tuple[str, ...]:
    """Return what follows from runs that ran into their limit: their times are not known."""
    if not times.killed:
        return ()
    at = ", ".join(f"{p:g}" for p in sorted({run.p for run in times.killed}))
    jobs = (
        "1 job that ran into its limit"
        if len(times.killed) == 1
        else f"{len(times.killed)} jobs that ran into their limit"
    )
    return (f"left out: {jobs}, at {times.counts} = {at}: the curve may be too low there",)


def _plain(question: Question, answers: Answers) -> dict[str, Any]:
    """Return JSON values."""
    return {
        **answers.curve.to_dict(),
        "isoefficiency": [attrs.asdict(size) for size in answers.needed],
        "left_out": [attrs.asdict(run) for run in question.left_out],
        "measured": [attrs.asdict(each) for each in answers.measured],
        "worth_measuring": [attrs.asdict(proposal) for proposal in answers.proposals],
    }


def _print_answers(question: Question, answers: Answers) -> None:
    times, wanted, proposals = question.times, question.wanted, answers.proposals
    print_measured(answers.measured, times.where)
    print_forecast(answers.curve, times.counts, question.left_out)
    print_work(answers.needed, wanted.efficiency)
    print_proposals(proposals, question.goal)
    if wanted.worth_measuring > len(proposals) + len(answers.measured):
        print_enough(question.goal, wanted.narrow_to)


def _prior(registry: Registry, times: Times, wanted: Wanted, sizes: Sequence[float]) -> Prior:
    """Return the prior by what is known, with the terms that programs or traces propose."""
    scope = scope_beside(registry, wanted.scope, times.scope, wanted.machine, times.where)
    prior = Prior(rises=Rises(scope=scope))
    if not wanted.sources:
        return prior
    names = ", ".join(wanted.sources)
    if wanted.machine is None:
        raise ParcastError(f"{names}: terms are proposed for a machine; name it by --on")
    if times.varies or wanted.weak:
        raise ParcastError(
            f"{names}: terms are proposed for one problem; leave out --weak and column n"
        )
    from parcast_scaling.proposed import with_proposed

    terms = with_proposed(registry, wanted.sources, wanted.machine, sizes)
    return attrs.evolve(prior, terms=terms)


def _held_out(times: Times, hold_out: str | None) -> tuple[list[Run], list[Run]]:
    """Return the runs that are used, and those that are only predicted."""
    if hold_out is None:
        return list(times.runs), list(times.blind)
    sizes = set(parse_numbers("--hold-out", hold_out))
    if unknown := sorted(sizes - {run.p for run in times.runs}):
        raise ParcastError(f"--hold-out {unknown[0]}: there is no run of it in {times.where}")
    runs = [run for run in times.runs if run.p not in sizes]
    if not runs:
        raise ParcastError(
            f"--hold-out {hold_out}: no runs of {times.where} are left; hold out fewer"
        )
    return runs, [*(run for run in times.runs if run.p in sizes), *times.blind]


def _sizes(runs: Sequence[Run], left_out: Sequence[Run], wanted: Wanted) -> list[float]:
    if wanted.p is not None:
        if wanted.to is not None:
            raise ParcastError(f"-p {wanted.p} and --to {wanted.to}: give one of them")
        return [float(p) for p in parse_numbers("-p", wanted.p)]
    largest = max(run.p for run in runs)
    end = wanted.to if wanted.to is not None else _REACH * largest
    if wanted.to is not None and end <= largest:
        raise ParcastError(
            f"--to {wanted.to}: times are measured to p={largest:g}; write a larger p"
        )
    counted = {run.p for run in (*runs, *left_out)}
    p = largest
    while p < end:
        p = min(2 * p, float(end))
        counted.add(p)
    return sorted(counted)
