"""The board in words: rows of its table, JSON, and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parcast.model import Dataset
from parcast_score.board import Score
from parcast_score.statistics import LEVELS, Answer, Summary

#: What the rules of a split mean.
SPLITS = {
    "largest": "the largest size of each series with several is blind",
    "all": "every point is blind",
    "none": "no point is blind, since all were seen when the model was made",
}

HEADER = ("dataset", "by", "answered", "median", "90 %", "worst", "bias", "in 50 %", "in 90 %",
          "knee", "bottleneck", "calibrated", "CPU")  # fmt: skip


def header() -> tuple[str, ...]:
    """Return the names of the table's columns."""
    return HEADER


def rows(scores: Sequence[Score]) -> list[list[str]]:
    """Return a row of cells for each score; the errors are those at blind points."""
    return [_row(score) for score in scores]


def _row(score: Score) -> list[str]:
    blind, calibrated = score.blind, score.calibrated
    return [
        score.dataset.name,
        score.predictor,
        f"{blind.answered} of {blind.points}",
        *(percent(value) for value in (blind.median, blind.ninety, blind.worst)),
        percent(blind.bias, signed=True),
        share(blind.coverage[50]),
        share(blind.coverage[90]),
        share(blind.knees),
        share(blind.bottlenecks),
        f"{percent(calibrated.median)} of {calibrated.answered}" if calibrated.answered else "",
        spent(score.cpu_seconds),
    ]


def about(dataset: Dataset) -> list[str]:
    """Return what a dataset is, where it is from, how it is divided and what to mind."""
    commit = f", commit {dataset.commit[:12]}" if dataset.commit else ""
    blind, calibrating = len(dataset.blind), len(dataset.calibrating)
    origin = f"{dataset.summary}. Source: {dataset.source}{commit}; licence: {dataset.licence}."
    split = SPLITS.get(dataset.split, dataset.split)
    division = f"{split}: {calibrating} points calibrate, {blind} are blind."
    method = f"Measured: {dataset.method}. Size counts {dataset.counts}; {division}"
    unrecorded = f"Errors here enter no record: {dataset.unrecorded}."
    return [origin, method, *dataset.remarks, *([unrecorded] if dataset.unrecorded else [])]


def refusals(scores: Sequence[Score]) -> list[str]:
    """Return a sentence for each reason why points have no answer; of blind ones, if any is."""
    sentences: dict[tuple[str, int], list[str]] = {}
    for score in scores:
        judged = score.blind if score.blind.points else score.calibrated
        for reason, count in judged.refused.items():
            sentences.setdefault((reason, count), []).append(score.predictor)
    return [
        f"{', '.join(who)}: {count} not answered, {reason.removesuffix('.')}."
        for (reason, count), who in sentences.items()
    ]


def seen(scores: Sequence[Score]) -> list[str]:
    """Return a sentence for each predictor whose makers had seen a dataset's times."""
    reasons = [(score, score.dataset.seen_by(score.predictor)) for score in scores]
    return [
        f"{score.predictor}: not blind at {score.dataset.name}, {reason}."
        for score, reason in reasons
        if reason
    ]


def points(score: Score) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the header and the rows of a table of every answer."""
    heads = ("series", score.dataset.counts, "", "measured [s]", "predicted [s]", "error", "90 %")
    return heads, tuple(_point(answer) for answer in score.answers)


def _point(answer: Answer) -> tuple[str, ...]:
    prediction, point = answer.prediction, answer.measured.point
    low, high = (prediction.quantiles.get(level) for level in LEVELS[90])
    return (
        point.series,
        f"{point.size:g}",
        "blind" if answer.blind else "calibrates",
        f"{answer.measured.seconds:.5g}",
        "" if prediction.time is None else f"{prediction.time:.5g}",
        prediction.message or percent(answer.error, signed=True),
        "" if low is None or high is None else f"{low:.4g} .. {high:.4g}",
    )


def percent(value: float | None, *, signed: bool = False) -> str:
    """Return a share in per cent with two or three digits; empty without one."""
    if value is None:
        return ""
    number = 100 * value
    digits = 0 if abs(number) >= 99.5 else 1
    return f"{number:{'+' if signed else ''}.{digits}f} %"


def share(pair: tuple[int, int]) -> str:
    """Return ``7 of 9``; empty where it is of none."""
    return f"{pair[0]} of {pair[1]}" if pair[1] else ""


def spent(seconds: float) -> str:
    """Return processor time by its order of magnitude, which is the same from run to run."""
    return next((f"< {limit} s" for limit in (100, 1000) if seconds < limit), "> 1000 s")


def to_dict(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the board for JSON: every answer, and what predictors got and said as digests."""
    return {"schema": 1, "scores": [_score(score) for score in scores]}


def _score(score: Score) -> dict[str, Any]:
    dataset = score.dataset
    return {
        "dataset": dataset.name,
        "source": dataset.source,
        "licence": dataset.licence,
        "commit": dataset.commit,
        "split": dataset.split,
        "predictor": score.predictor,
        "command": score.command,
        "question": score.question,
        "predictions": score.predictions,
        "cpu": spent(score.cpu_seconds),
        "blind": _summary(score.blind),
        "calibrated": _summary(score.calibrated),
        "points": [
            {
                "series": answer.measured.point.series,
                "size": answer.measured.point.size,
                "blind": answer.blind,
                "measured": answer.measured.seconds,
                "predicted": answer.prediction.time,
                "error": answer.error,
                "quantiles": {str(k): v for k, v in answer.prediction.quantiles.items()},
                "binding": answer.prediction.binding,
                "message": answer.prediction.message,
            }
            for answer in score.answers
        ],
    }


def _summary(summary: Summary) -> dict[str, Any]:
    return summary.to_dict()
