"""The two plots of a dataset: predicted against measured, and the error by distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from parcast.model import Dataset
from parcast_report.document import Drawing
from parcast_report.style import INK, MARKERS, SERIES, log2_axis, log_axis
from parcast_score.board import Score, distances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Errors beyond this are drawn at the edge.
_MOST = 1.0

#: How many doublings predictors stand apart where sizes are alike.
_ASIDE = 0.05


def drawings(scores: Sequence[Score]) -> list[Drawing]:
    """Return the plots of one dataset's scores; none of predictors that answer nothing."""
    drawn = [score for score in scores if score.blind.answered][: len(SERIES)]
    if not drawn:
        return []
    names = ", ".join(score.predictor for score in drawn)
    against = f"Predicted over measured seconds at blind points by {names}, both logarithmic"
    by_scale = f"Relative error at blind points over their scale, by {names}"
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
    dataset, places = scores[0].dataset, list[float]()
    for index, score in enumerate(scores):
        pairs = [
            (distance or answer.measured.point.size, 100 * max(-_MOST, min(_MOST, answer.error)))
            for answer, distance in zip(score.answers, distances(score), strict=True)
            if answer.blind and answer.error is not None and bool(distance) == _calibrated(dataset)
        ]
        places += [x for x, _ in pairs]
        aside = 2 ** (_ASIDE * (index - (len(scores) - 1) / 2))  # else they hide each other
        _scatter(axes, index, [(x * aside, y) for x, y in pairs], score.predictor)
    axes.axhline(0, color=INK, linewidth=0.8)
    log2_axis(axes.xaxis, places)
    axes.set_xlabel(
        "size over the largest that calibrates" if _calibrated(dataset) else dataset.counts
    )
    axes.set_ylabel("error [%], at most 100 drawn")
    axes.legend()


def _calibrated(dataset: Dataset) -> bool:
    """Tell whether any point calibrates, so that blind ones have a distance from it."""
    return bool(dataset.calibrating)


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
