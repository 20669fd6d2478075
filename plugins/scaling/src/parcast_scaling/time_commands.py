"""What ``parcast scaling`` of times and ``parcast walltime`` print."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import attrs
import numpy as np

from parcast.cli import print_json, print_table, print_text
from parcast.errors import ParcastError
from parcast.files import check_file, write_text
from parcast.quantities import format_seconds, parse_numbers
from parcast_scaling.forecast import Band, Forecast, forecast
from parcast_scaling.isoefficiency import NeededWork, isoefficiency
from parcast_scaling.limits import machine_bound
from parcast_scaling.mechanisms import Floats
from parcast_scaling.prior import Prior
from parcast_scaling.reading import Times
from parcast_scaling.times import Run
from parcast_scaling.walltime import Limit, Walltime
from parcast_scaling.walltime import walltime as find_walltime
from parcast_scaling.worth import Proposal
from parcast_scaling.worth import worth_measuring as propose

if TYPE_CHECKING:
    from parcast import Registry

#: How far beyond the largest measured p the curve is shown where nobody says.
_REACH = 16


@attrs.frozen(kw_only=True)
class Wanted:
    """The options of ``parcast scaling`` for times."""

    p: str | None
    to: int | None
    machine: str | None
    sources: tuple[str, ...]  #: programs or traces that propose terms
    hold_out: str | None
    weak: bool
    efficiency: float
    worth_measuring: int
    seed: int


@attrs.frozen
class Work:
    """The work at p where it is predicted: as large as the largest measured, or growing as p."""

    n: float
    per_process: float | None = None

    def __call__(self, p: Floats) -> Floats:
        """Return it, relative."""
        return self.per_process * p if self.per_process is not None else np.full_like(p, self.n)


def show_forecast(
    registry: Registry, times: Times, wanted: Wanted, *, json: bool, output: Path | None
) -> int:
    """Print the curve beyond the measured times, and write its plot."""
    if output is not None:
        check_file(output, "a plot", [".html"])
    times, work = _with_work(times, wanted)
    runs, left_out = _held_out(times, wanted.hold_out)
    largest = max(run.p for run in runs)
    sizes = _sizes(runs, left_out, wanted)
    prior = _prior(registry, times, wanted, [*sizes, *(run.p for run in runs)])
    answer = forecast(
        runs,
        sizes,
        work=work,
        target=wanted.efficiency,
        where=times.where,
        seed=wanted.seed,
        bound=None if wanted.sources else machine_bound(registry, times, wanted.machine),
        prior=prior,
    )
    answer = attrs.evolve(answer, remarks=(*times.remarks, *answer.remarks))
    proposals: tuple[Proposal, ...] = ()
    if wanted.worth_measuring:
        goal = max(*sizes, 2 * largest)
        proposals = propose(
            runs, goal, wanted.worth_measuring, work=work, seed=wanted.seed, prior=prior
        )
    by_work = (
        isoefficiency(runs, sizes, wanted.efficiency, seed=wanted.seed) if times.varies else None
    )
    needed = by_work.needed if by_work else ()
    if json:
        print_json({
            **answer.to_dict(),
            "isoefficiency": [attrs.asdict(size) for size in needed],
            "left_out": [attrs.asdict(run) for run in left_out],
            "worth_measuring": [attrs.asdict(proposal) for proposal in proposals],
        })  # fmt: skip
    else:
        _print_forecast(answer, times.counts, left_out)
        _print_work(needed, wanted.efficiency)
        _print_proposals(proposals, max(sizes))
    if output is not None:
        from parcast_scaling.plot import page

        write_text(
            output, page(answer, times.counts, left_out, by_work.surface if by_work else None)
        )
    return 0


def _with_work(times: Times, wanted: Wanted) -> tuple[Times, Work]:
    """Return the runs with their work, and the work of sizes that are predicted."""
    if times.varies:
        last = max(times.runs, key=lambda run: (run.p, run.n))
        return times, Work(last.n, last.n / last.p if wanted.weak else None)
    if not wanted.weak:
        return times, Work(1.0)
    runs = tuple(attrs.evolve(run, n=run.p) for run in times.runs)
    return attrs.evolve(times, runs=runs), Work(1.0, 1.0)


def _prior(
    registry: Registry, times: Times, wanted: Wanted, sizes: Sequence[float]
) -> Prior | None:
    """Return the prior with the terms that programs or traces propose."""
    if not wanted.sources:
        return None
    names = ", ".join(wanted.sources)
    if wanted.machine is None:
        raise ParcastError(f"{names}: terms are proposed for a machine; name it by --on")
    if times.varies or wanted.weak:
        raise ParcastError(
            f"{names}: terms are proposed for one problem; leave out --weak and column n"
        )
    from parcast_scaling.proposed import with_proposed

    return Prior(terms=with_proposed(registry, wanted.sources, wanted.machine, sizes))


def _held_out(times: Times, hold_out: str | None) -> tuple[list[Run], list[Run]]:
    """Return the runs that are used, and those that are only predicted."""
    if hold_out is None:
        return list(times.runs), []
    sizes = set(parse_numbers("--hold-out", hold_out))
    if unknown := sorted(sizes - {run.p for run in times.runs}):
        raise ParcastError(f"--hold-out {unknown[0]}: there is no run of it in {times.where}")
    runs = [run for run in times.runs if run.p not in sizes]
    if not runs:
        raise ParcastError(
            f"--hold-out {hold_out}: no runs of {times.where} are left; hold out fewer"
        )
    return runs, [run for run in times.runs if run.p in sizes]


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
    shown = {run.p for run in (*runs, *left_out)}
    p = largest
    while p < end:
        p = min(2 * p, float(end))
        shown.add(p)
    return sorted(shown)


def _print_forecast(answer: Forecast, counts: str, left_out: Sequence[Run]) -> None:
    sizes = sorted({run.p for run in answer.runs})
    print_text(
        f"{answer.where}: {len(answer.runs)} runs at {counts} = "
        f"{', '.join(f'{p:g}' for p in sizes)}; one run varies by {100 * answer.noise:.2g} %\n"
    )
    print_table(
        (counts, "measured", "median", "50 %", "90 %", "efficiency",
         f"under {100 * answer.target:g} %", "binds"),
        [
            [
                f"{band.p:g}",
                _measured([*answer.runs, *left_out], band),
                format_seconds(band.median),
                f"{format_seconds(band.low50)} .. {format_seconds(band.high50)}",
                f"{format_seconds(band.low90)} .. {format_seconds(band.high90)}",
                f"{100 * band.efficiency:.0f} %",
                f"{100 * band.below:.0f} %",
                f"{band.binds} ({100 * band.binds_chance:.0f} %)",
            ]
            for band in answer.bands
        ],
        optional=("50 %",),
    )  # fmt: skip
    print_text("\n" + _knee_sentence(answer, counts))
    for run in sorted(left_out, key=lambda run: run.p):
        band = next((band for band in answer.bands if band.holds(run)), None)
        if band is None:
            continue  # it was of other work than is predicted
        inside = "inside" if band.low90 <= run.seconds <= band.high90 else "outside"
        print_text(
            f"\n{counts}={run.p:g} left out: {format_seconds(run.seconds)}, {inside} the 90 % band"
            f"; the median is off by {100 * (band.median / run.seconds - 1):+.1f} %"
        )
    for remark in answer.remarks:
        print_text(f"\n{remark}")


def _print_work(sizes: Sequence[NeededWork], target: float) -> None:
    if not sizes:
        return
    print_text(f"\nwork n for an efficiency of {100 * target:g} %:")
    print_table(
        ("p", "n", "90 %"),
        [
            [f"{size.p:g}", _amount(size.n), f"{_amount(size.low90)} .. {_amount(size.high90)}"]
            for size in sizes
        ],
    )


def _amount(n: float | None) -> str:
    return "none up to 64 times as much" if n is None else f"{n:.3g}"


def _measured(runs: Sequence[Run], band: Band) -> str:
    seconds = [run.seconds for run in runs if band.holds(run)]
    return format_seconds(median(seconds)) if seconds else ""


def _knee_sentence(answer: Forecast, counts: str) -> str:
    knee, last = answer.knee, max(band.p for band in answer.bands)
    beyond = f"beyond {last:g}"
    ends = [f"{end:.3g}" if end is not None else beyond for end in (knee.low90, knee.high90)]
    smallest = min(run.p for run in answer.runs)
    if knee.median is not None and knee.median < 1.25 * smallest:
        return (
            f"knee: at {counts} = {smallest:g} already or before: doubling makes it less than 1.41 "
            "times as fast from there on; if the work grows as p, say so by --weak"
        )
    if knee.median is None:
        start = f"knee: {beyond}, with a probability of {100 * (1 - knee.chance):.0f} %"
    else:
        start = f"knee: {counts} = {knee.median:.3g} (90 %: {ends[0]} .. {ends[1]})"
    return (
        f"{start}, from where doubling makes it less than 1.41 times as fast; besides divided work "
        f"{knee.binds} takes most there ({100 * knee.binds_chance:.0f} %)"
    )


def _print_proposals(proposals: Sequence[Proposal], goal: float) -> None:
    if not proposals:
        return
    print_text(f"\nworth measuring, for the 90 % band at p={goal:g}:")
    print_table(
        ("p", "expected time", "p times hours", "band now", "expected then"),
        [
            [
                f"{proposal.p:g}",
                format_seconds(proposal.seconds),
                f"{proposal.cost:.3g}",
                f"{proposal.before:.3g}-fold",
                f"{proposal.after:.3g}-fold",
            ]
            for proposal in proposals
        ],
    )


def show_walltime(times: Times, p: int, quantile: float, *, seed: int, json: bool) -> int:
    """Print the time limit for a probability, and what other limits cost."""
    answer = find_walltime(
        times.runs,
        float(p),
        quantile,
        where=times.where,
        counts=times.counts,
        seed=seed,
        remarks=times.remarks,
    )
    if json:
        print_json(answer.to_dict())
    else:
        _print_walltime(answer)
    return 0


def _print_walltime(answer: Walltime) -> None:
    print_text(
        f"{answer.where}: {answer.runs} runs, {answer.runs_there} of them at "
        f"{answer.counts}={answer.p:g}\n\nask for {_clock(answer.limit.seconds)}: "
        f"{100 * answer.limit.quantile:g} % of runs end in it\n"
    )
    print_table(
        ("limit", "ends in it", "asked for and not used", "lost with killed runs"),
        [_limit_row(limit, answer.p) for limit in answer.others],
    )
    print_text(f"\nin {answer.counts} times hours, in the mean of all runs")
    for remark in answer.remarks:
        print_text(f"\n{remark}")


def _limit_row(limit: Limit, p: float) -> list[str]:
    hours = p / 3600
    return [
        _clock(limit.seconds),
        f"{100 * limit.quantile:g} %",
        f"{hours * limit.unused:.3g}",
        f"{hours * limit.lost:.3g}",
    ]


def _clock(seconds: float) -> str:
    """Return a time as ``sbatch --time`` takes it, rounded up to a minute."""
    minutes = int(np.ceil(seconds / 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{minutes:02}:00" if days else f"{hours:02}:{minutes:02}:00"
