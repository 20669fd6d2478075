"""What ``parcast walltime`` prints."""

from __future__ import annotations

import numpy as np

from parcast.cli import print_json, print_table, print_text
from parcast.errors import ParcastError
from parcast_scaling.reading import Times
from parcast_scaling.walltime import Limit, Walltime
from parcast_scaling.walltime import walltime as find_walltime


def show_walltime(times: Times, p: int, quantile: float, *, seed: int, json: bool) -> int:
    """Print the time limit for a probability, and what other limits cost."""
    if times.varies:
        raise ParcastError(
            f"{times.where}: its runs differ in their work n, and a limit is for one; keep the "
            "runs of one n, and leave out the column"
        )
    answer = find_walltime(
        times.runs,
        float(p),
        quantile,
        killed=times.killed,
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
