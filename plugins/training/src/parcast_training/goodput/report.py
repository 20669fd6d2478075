"""What ``parcast goodput`` prints."""

from __future__ import annotations

from typing import Any

import attrs

from parcast.cli import print_table, print_text
from parcast_training.goodput.answer import Answer, Cut, Distributed
from parcast_training.goodput.durations import in_words, percent
from parcast_training.goodput.failing import FailingJob
from parcast_training.goodput.failures import waiting_share

_MODEL = (
    "model: failures come at a constant rate while the job runs, also during checkpoints and "
    "restarts; all since the last checkpoint is lost; each interval ends with a checkpoint, the "
    "last one too; what no checkpoint holds is not done"
)


def print_answer(answer: Answer) -> None:
    """Print the table and what it means."""
    for note in answer.question.notes:
        print_text(note)
    print_text(_headline(answer))
    print_text("")
    _print_cuts(answer)
    print_text("")
    for line in (*_finish(answer), *_span(answer), *_waiting(answer), _MODEL):
        print_text(line)


def _headline(answer: Answer) -> str:
    question, job = answer.question, answer.question.job
    work = "work without end" if question.work is None else f"{in_words(question.work)} of work"
    parts = [
        f"{work}, a failure every {in_words(job.mtbf)}",
        f"checkpoints of {in_words(job.checkpoint)}",
        f"restarts of {in_words(job.restart)}",
    ]
    if job.spares is not None and job.repair is not None:
        spares = f"{job.spares} spare{'' if job.spares == 1 else 's'}"
        parts.append(f"{spares}, repairs of {in_words(job.repair.mean)}")
    if job.speed < 1:
        parts.append(f"stragglers make {percent(job.slow_share)} of the time {job.slowdown:g} "
                     "times as long")  # fmt: skip
    return ", ".join(parts)


def _print_cuts(answer: Answer) -> None:
    job = answer.question.job
    columns: dict[str, list[str]] = {
        "interval by": [cut.by for cut in answer.cuts],
        "interval": [in_words(cut.interval) for cut in answer.cuts],
    }
    for head, name in _HEADS:
        if (head == "stragglers" and job.speed == 1) or (head == "waiting" and job.spares is None):
            continue
        columns[head] = [percent(getattr(cut.shares, name)) for cut in answer.cuts]
    if answer.question.work is not None:
        columns["time to finish"] = [_time(cut) for cut in answer.cuts]
    print_table(tuple(columns), list(zip(*columns.values(), strict=True)))


_HEADS = (
    ("goodput", "useful"),
    ("checkpoints", "checkpoints"),
    ("lost work", "lost"),
    ("restarts", "restarts"),
    ("waiting", "waiting"),
    ("stragglers", "stragglers"),
)


def _time(cut: Cut) -> str:
    """Return the mean time to finish, with as much waiting as in the long run."""
    return "" if cut.finish is None else in_words(cut.finish.mean / (1 - cut.shares.waiting))


def _finish(answer: Answer) -> list[str]:
    best, finish, before = answer.best, answer.finish, answer.failures_to_finish
    if best.finish is None or finish is None or before is None:
        return []
    job, waits = answer.question.job, answer.best.shares.waiting
    running = f"{in_words(best.finish.mean)} in the mean, standard deviation "
    running += f"{in_words(best.finish.std)} (exact)"
    how = f"it runs for {running}, and waits as in the long run" if waits else f"done in {running}"
    lines = [
        f"a checkpoint every {in_words(best.interval)}: {how}",
        (
            f"failures until then: {before.mean:.4g} in the mean, {_range(before)} in 90 % of "
            "runs (exact)"
        ),
        (
            f"{answer.runs:,} simulated runs: half are done in "
            f"{in_words(finish.quantiles[0.5])}, 95 % in {in_words(finish.quantiles[0.95])}; "
            f"mean {in_words(finish.mean)}{', with all spares there at first' if waits else ''}"
        ),
    ]
    if job.speed < 1:
        lines.append("until it is done stragglers count by their mean; within the months below "
                     "they come and go")  # fmt: skip
    return lines


def _range(counts: Distributed) -> str:
    low, _, high = counts.quantiles.values()
    return f"{low:,.0f} to {high:,.0f}"


def _span(answer: Answer) -> list[str]:
    useful, counts = answer.useful, answer.failures_within
    low, median, high = (percent(share) for share in useful.quantiles.values())
    how = "exact" if answer.counted else "simulated"
    span = in_words(answer.question.horizon)
    return [
        (
            f"{answer.runs:,} simulated times of {span}: goodput {median} in the median, {low} to "
            f"{high} in 90 % of them"
        ),
        f"failures within {span}: {_range(counts)} in 90 % of them ({how})",
    ]


def _waiting(answer: Answer) -> list[str]:
    job = answer.question.job
    if job.spares is None:
        return ["a failed node is replaced at once; --spares and --repair say by which"]
    numbers = range(max(0, job.spares - 1), job.spares + 3)
    shares = ", ".join(f"{percent(_with_spares(job, number))} with {number}" for number in numbers)
    return [f"share of the time spent waiting for a node, by spares: {shares}"]


def _with_spares(job: FailingJob, spares: int) -> float:
    return waiting_share(attrs.evolve(job, spares=spares))


def answer_json(answer: Answer) -> dict[str, Any]:
    """Return the answer as one object, times in seconds."""
    question, job = answer.question, answer.question.job
    return {
        "schema": 1,
        "job": {
            "work": question.work,
            "mtbf": job.mtbf,
            "checkpoint": job.checkpoint,
            "restart": job.restart,
            "spares": job.spares,
            "repair": None if job.repair is None else job.repair.mean,
            "slow_share": job.slow_share,
            "slowdown": job.slowdown,
            "slow_episode": job.slow_episode,
        },
        "intervals": [
            {
                "by": cut.by,
                "interval": cut.interval,
                "goodput": cut.shares.useful,
                "shares": attrs.asdict(cut.shares),
                "finish": cut.finish and {"mean": cut.finish.mean, "std": cut.finish.std},
            }
            for cut in answer.cuts
        ],
        "simulated_interval": answer.best.interval,
        "horizon": question.horizon,
        "runs": answer.runs,
        "failures_to_finish": _distribution(answer.failures_to_finish),
        "failures_within_horizon": _distribution(answer.failures_within),
        "time_to_finish": _distribution(answer.finish),
        "goodput_within_horizon": _distribution(answer.useful),
        "waiting_within_horizon": _distribution(answer.waiting),
        "notes": [*question.notes, _MODEL],
    }


def _distribution(values: Distributed | None) -> dict[str, Any] | None:
    if values is None:
        return None
    quantiles = {str(level): value for level, value in values.quantiles.items()}
    return {"mean": values.mean, "standard_error": values.error, "quantiles": quantiles}
