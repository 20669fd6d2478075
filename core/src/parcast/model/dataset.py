"""Measured data: points of series, those that calibrate with what was measured, and the others.

What is to be predicted is asked by a `Question`, which has no measured value of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class Point:
    """A point of a series: all that is known of it before it is measured."""

    series: str
    size: float  #: how large: nodes, processes, accelerators
    work: float = 1.0  #: relative to other points of the series
    facts: Mapping[str, Any] = attrs.field(factory=dict, hash=False)  #: numbers in base units
    place: str = attrs.field(default="", eq=False)  #: the line that states it

    @property
    def group(self) -> str:
        """The code on a system that it is of: the fact ``group``, or else its series."""
        return str(self.facts.get("group") or self.series)


@attrs.frozen
class Measured:
    """What was measured at a point."""

    point: Point
    seconds: float  #: of a rate, the seconds of one item
    low: float | None = None  #: the shortest of several runs, in seconds
    high: float | None = None
    bottleneck: str = ""  #: processor, network, storage or synchronization, where it is known


@attrs.frozen(kw_only=True)
class Modeling:
    """How solvers are asked of a dataset: by a workload, a machine and what is set.

    Names may have ``{column}`` in them; ``fit`` names a parameter of the workload that is chosen
    for each series so that its calibrating points come out right in the geometric mean.
    """

    workload: str
    machine: str
    p: str = "size"
    d: str | None = None
    settings: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = attrs.field(factory=dict, hash=False)
    fit: str | None = None
    solvers: tuple[str, ...] = ()  #: those that are asked where nobody names any


@attrs.frozen(kw_only=True)
class Question:
    """What a predictor gets: points with what was measured, and points to predict without.

    ``points`` holds the calibrating points, too, so that how well they are met can be told.
    """

    dataset: str
    counts: str  #: what ``size`` is a number of
    calibrating: tuple[Measured, ...]
    points: tuple[Point, ...]
    units: Mapping[str, str] = attrs.field(factory=dict, hash=False)  #: of each fact, or "text"
    modeling: Modeling | None = None
    folder: Path | None = None  #: where files of workloads and machines stand

    def series(self) -> Iterator[tuple[tuple[Measured, ...], tuple[int, ...]]]:
        """Yield for each series its calibrating points and the indices of its ``points``."""
        indices: dict[str, list[int]] = {}
        for index, point in enumerate(self.points):
            indices.setdefault(point.series, []).append(index)
        measured: dict[str, list[Measured]] = {name: [] for name in indices}
        for item in self.calibrating:
            measured[item.point.series].append(item)
        for name, places in indices.items():
            yield tuple(measured[name]), tuple(places)


@attrs.frozen(kw_only=True)
class ErrorRecord:
    """How far a solver usually was off, by a record of its errors at unseen points."""

    factor: float  #: predicted over measured, or the reverse, was at most this
    level: float  #: so often
    points: int  #: of how many errors it is the quantile
    datasets: tuple[str, ...]  #: where they are from
    simulated: bool = False  #: whether those are simulated times, and none was measured
    record: str = ""  #: which record, and of when


@attrs.frozen(kw_only=True)
class Dataset:
    """A folder of measured times: where they are from, and which of them are predicted."""

    name: str
    summary: str
    source: str
    licence: str
    commit: str
    method: str  #: how it was measured
    unit: str  #: of the values in its file
    counts: str  #: what ``size`` is a number of
    split: str  #: the rule that was stated
    simulated: bool = False  #: whether another program gave the values, and none was measured
    calibrating: tuple[Measured, ...]
    blind: tuple[Measured, ...]
    units: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    modeling: Modeling | None = None
    #: who is not judged as blind, since its makers had seen the times, and what they did with them
    seen: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    unrecorded: str = ""  #: why errors here widen no interval elsewhere; empty where they do
    remarks: tuple[str, ...] = ()  #: sentences on how far the figures can be trusted
    folder: Path | None = None

    def seen_by(self, predictor: str) -> str | None:
        """Return what a predictor's makers did with the times; None where they are unseen.

        What is said of a family holds for its solvers, and the reverse.
        """
        for name, reason in self.seen.items():
            shorter, longer = sorted((name, predictor), key=len)
            if longer == shorter or longer.startswith(f"{shorter}."):
                return reason
        return None

    def question(self) -> Question:
        """Return what predictors get: nothing that was measured at a blind point."""
        points = [item.point for item in (*self.calibrating, *self.blind)]
        return Question(
            dataset=self.name,
            counts=self.counts,
            calibrating=self.calibrating,
            points=tuple(points),
            units=self.units,
            modeling=self.modeling,
            folder=self.folder,
        )
