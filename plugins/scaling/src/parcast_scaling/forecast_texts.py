"""What ``parcast scaling`` of times prints: tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from parcast.cli import print_table, print_text
from parcast.quantities import format_seconds
from parcast_scaling.forecast import Band, Forecast
from parcast_scaling.isoefficiency import NeededWork
from parcast_scaling.measuring import Measured
from parcast_scaling.times import Run
from parcast_scaling.worth import Proposal

#: So many sizes are named.
_LISTED = 12

#: Said of a code that no process speeds up.
_PERHAPS_WEAK = "; if the work grows as p, say so by --weak"

#: From which probability on a knee is stated before what is beyond, and up to which it is not.
LIKELY, _UNLIKELY = 0.5, 0.05

#: The heads of a table, and its rows.
Cells = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]


def print_forecast(answer: Forecast, counts: str, left_out: Sequence[Run]) -> None:
    """Print the curve, its knee, and how runs lie that were left out."""
    print_text(
        f"{answer.where}: {len(answer.runs)} runs at {counts} = {_listed(answer.runs)}; one run "
        f"varies by {100 * answer.noise:.2g} %\n"
    )
    heads, rows = curve_table(answer, counts, left_out)
    print_table(heads, rows, optional=("50 %",))
    print_text("\n" + knee_sentence(answer, counts))
    of_other_work = 0
    for run in sorted(left_out, key=lambda run: run.p):
        band = next((band for band in answer.bands if band.holds(run)), None)
        if band is None:
            of_other_work += any(band.p == run.p for band in answer.bands)
            continue
        inside = "inside" if band.low90 <= run.seconds <= band.high90 else "outside"
        print_text(
            f"\n{counts}={run.p:g} left out: {format_seconds(run.seconds)}, {inside} the 90 % band"
            f"; the median is off by {100 * (band.median / run.seconds - 1):+z.1f} %"
        )
    if of_other_work:
        print_text(
            f"\nnot compared: {of_other_work} left out with other work than is predicted; --weak "
            "predicts a work that grows as p"
        )
    for remark in answer.remarks:
        print_text(f"\n{remark}")


def _listed(runs: Sequence[Run]) -> str:
    """Return the measured sizes, of many the ends."""
    sizes = [f"{p:g}" for p in sorted({run.p for run in runs})]
    if len(sizes) > _LISTED:
        return f"{', '.join(sizes[:3])}, ..., {sizes[-1]} ({len(sizes)} sizes)"
    return ", ".join(sizes)


def curve_table(answer: Forecast, counts: str, left_out: Sequence[Run]) -> Cells:
    """Return the heads and the rows of the curve."""
    heads = (counts, "measured", "median", "50 %", "90 %", "efficiency",
             f"under {100 * answer.target:g} %", "binds")  # fmt: skip
    return heads, tuple(
        (
            f"{band.p:g}",
            _measured([*answer.runs, *left_out], band),
            format_seconds(band.median),
            f"{format_seconds(band.low50)} .. {format_seconds(band.high50)}",
            f"{format_seconds(band.low90)} .. {format_seconds(band.high90)}",
            f"{100 * band.efficiency:.0f} %",
            f"{100 * band.below:.0f} %",
            f"{band.binds} ({100 * band.binds_chance:.0f} %)",
        )
        for band in answer.bands
    )


def print_work(sizes: Sequence[NeededWork], target: float) -> None:
    """Print the work that keeps an efficiency."""
    if not sizes:
        return
    print_text(f"\nwork n for an efficiency of {100 * target:g} %:")
    print_table(*work_table(sizes))


def work_table(sizes: Sequence[NeededWork]) -> Cells:
    """Return the heads and the rows of the work that keeps an efficiency."""
    return ("p", "n", "90 %"), tuple(
        (f"{size.p:g}", _amount(size.n), f"{_amount(size.low90)} .. {_amount(size.high90)}")
        for size in sizes
    )


def _amount(n: float | None) -> str:
    return "none up to 64 times as much" if n is None else f"{n:.3g}"


def _measured(runs: Sequence[Run], band: Band) -> str:
    seconds = [run.seconds for run in runs if band.holds(run)]
    return format_seconds(median(seconds)) if seconds else ""


def knee_sentence(answer: Forecast, counts: str) -> str:
    """Return where the curve bends, and what takes most there."""
    knee, last = answer.knee, max(band.p for band in answer.bands)
    beyond = f"beyond {last:g}"
    ends = [f"{end:.3g}" if end is not None else beyond for end in (knee.low90, knee.high90)]
    smallest = min(run.p for run in answer.runs)
    likely = knee.chance >= LIKELY
    if likely and knee.median is not None and knee.median < 1.25 * smallest:
        grows = len({run.n for run in answer.runs}) > 1
        return (
            f"knee: at {counts} = {smallest:g} already or before: doubling makes it less than 1.41 "
            f"times as fast from there on{'' if grows else _PERHAPS_WEAK}"
        )
    is_beyond = f"{beyond} with a probability of {100 * (1 - knee.chance):.0f} %"
    if knee.median is None or knee.chance < _UNLIKELY:
        start = f"knee: {is_beyond}"
    elif likely:
        also = f"; {is_beyond}" if knee.chance < 1 - _UNLIKELY else ""
        start = f"knee: {counts} = {knee.median:.3g} (90 %: {ends[0]} .. {ends[1]}{also})"
    else:
        start = f"knee: {is_beyond} (else at about {counts} = {knee.median:.3g})"
    start += ", from where doubling makes it less than 1.41 times as fast"
    if not knee.binds_chance:
        return start
    return (
        f"{start}; largest there, besides divided work: {knee.binds} "
        f"(with a probability of {100 * knee.binds_chance:.0f} %)"
    )


def print_proposals(proposals: Sequence[Proposal], goal: float) -> None:
    """Print the runs that are worth measuring."""
    if not proposals:
        return
    print_text(f"\nworth measuring, for the 90 % band at p={goal:g} without sudden rises:")
    print_table(*proposal_table(proposals))


def print_enough(goal: float, narrow_to: float) -> None:
    """Say why no more runs are proposed."""
    print_text(
        f"\nno more is worth measuring: the 90 % band at p={goal:g} without sudden rises is then "
        f"{narrow_to:g}-fold or narrower; --narrow-to asks for a narrower one"
    )


def proposal_table(proposals: Sequence[Proposal]) -> Cells:
    """Return the heads and the rows of the runs that are worth measuring."""
    return ("p", "expected time", "p times hours", "band now", "expected then"), tuple(
        (
            f"{proposal.p:g}",
            format_seconds(proposal.seconds),
            f"{proposal.cost:.3g}",
            f"{proposal.before:.3g}-fold",
            f"{proposal.after:.3g}-fold",
        )
        for proposal in proposals
    )


def print_measured(measured: Sequence[Measured], where: str) -> None:
    """Print the runs that were measured because they were worth most."""
    if not measured:
        return
    print_text(f"measured now, and added to {where}:")
    print_table(
        ("p", "expected", "measured", "band before"),
        [
            [
                f"{measurement.run.p:g}",
                format_seconds(measurement.proposal.seconds),
                format_seconds(measurement.run.seconds),
                f"{measurement.proposal.before:.3g}-fold",
            ]
            for measurement in measured
        ],
    )
    print_text("")
