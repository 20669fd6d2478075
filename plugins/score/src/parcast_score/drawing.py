"""The two plots of a dataset: predicted against measured, and the error by distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parcast_report.document import Drawing
from parcast_report.style import INK, MARKERS, SERIES, log_axis
from parcast_score.board import Score, distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Errors beyond this are drawn at the edge.
_MOST = 1.0


def drawings(scores: Sequence[Score]) -> list[Drawing]:
    """Return the plots of one dataset's scores; none of predictors that answer nothing."""
    drawn = [score for score in scores if score.blind.answered][: len(SERIES)]
    if not drawn:
        return []
    names = ", ".join(score.predictor for score in drawn)
    against = f"Predicted over measured seconds at blind points by {names}, both logarithmic"
    by_scale = f"Relative error at blind points over the distance from calibration, by {names}"
    return [
        Drawing("Predicted against measured", against, partial(_against, scores=drawn)),
        Drawing("Error by scale", by_scale, partial(_by_scale, scores=drawn)),
    ]


def _axes(figure: Figure) -> Any:
    figure.set_size_inches(4.6, 3.8)
    return figure.subplots()


def _against(figure: Figure, scores: Sequence[Score]) -> None:
    axes = _axes(figure)
    ends = []
    for index, score in enumerate(scores):
        pairs = [
            (answer.measured.seconds, answer.prediction.time)
            for answer in score.answers
            if answer.blind and answer.prediction.time
        ]
        ends += [value for pair in pairs for value in pair]
        _scatter(axes, index, pairs, score.predictor)
    low, high = min(ends) / 1.3, max(ends) * 1.3
    axes.plot([low, high], [low, high], color=INK, linewidth=0.8, linestyle="dashed")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_view_interval(low, high, ignore=True)
        log_axis(axis)
    axes.set_xlabel("measured [s]")
    axes.set_ylabel("predicted [s]")
    axes.legend()


def _by_scale(figure: Figure, scores: Sequence[Score]) -> None:
    axes = _axes(figure)
    for index, score in enumerate(scores):
        pairs = [
            (distance, 100 * max(-_MOST, min(_MOST, answer.error)))
            for answer, distance in zip(score.answers, distances(score), strict=True)
            if answer.blind and answer.error is not None and distance is not None
        ]
        _scatter(axes, index, pairs, score.predictor)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("size over the largest that calibrates")
    axes.set_ylabel("error [%], at most 100 drawn")
    axes.legend()


def _scatter(axes: Any, index: int, pairs: Sequence[tuple[float, float]], label: str) -> None:
    axes.plot(
        [x for x, _ in pairs],
        [y for _, y in pairs],
        linestyle="none",
        marker=MARKERS[index],
        color=SERIES[index],
        markersize=4,
        label=label,
    )
