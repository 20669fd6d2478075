"""Digests of what a predictor gets and of what it answers: kept, they show what came first."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from parcast import ParcastError, Prediction, Registry
from parcast.model import Measured, Point, Question
from parcast_score.solvers import resource_name


def question_digest(registry: Registry, question: Question) -> str:
    """Return the SHA-256 of all that a predictor gets, workloads and machines with their text."""
    return _digest({
        "dataset": question.dataset,
        "counts": question.counts,
        "calibrating": [_stated(item) for item in question.calibrating],
        "points": [_point(point) for point in question.points],
        "units": dict(question.units),
        "modeling": None if question.modeling is None else attrs.asdict(question.modeling),
        "files": _files(registry, question) if question.modeling else {},
    })  # fmt: skip


def predictions_digest(
    digest: str, name: str, question: Question, answered: Sequence[Prediction]
) -> str:
    """Return the SHA-256 of a predictor's answers and of the digest of what it was asked.

    Times count to a millionth: their last digits differ from one processor to another.
    """
    rows = [
        [
            _point(point),
            _millionths(prediction.time),
            [(level, _millionths(time)) for level, time in sorted(prediction.quantiles.items())],
            prediction.message,
        ]
        for point, prediction in zip(question.points, answered, strict=True)
    ]
    return _digest([digest, name, rows])


def _millionths(time: float | None) -> float | None:
    """Return a time's logarithm in millionths: no time of few digits lies between two of them."""
    return round(1e6 * math.log(time)) if time and 0 < time < math.inf else time


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _stated(item: Measured) -> list[Any]:
    return [_point(item.point), item.seconds, item.low, item.high, item.bottleneck]


def _point(point: Point) -> list[Any]:
    return [point.series, point.size, point.work, dict(point.facts)]


def _files(registry: Registry, question: Question) -> Mapping[str, str]:
    return {**_beside(question.folder), **_named(registry, question)}


def _beside(folder: Path | None) -> Mapping[str, str]:
    """Return the digests of the workloads and machines in a dataset's folder."""
    if folder is None:
        return {}
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "dataset.toml" and path.suffix != ".csv"
    }


def _named(registry: Registry, question: Question) -> Mapping[str, str]:
    """Return the digests of the workloads and machines that the rule names, wherever they are."""
    modeling, texts = question.modeling, {}
    for point in question.points if modeling else ():
        for group, installed in (
            ("workload", registry.workloads),
            ("machine", registry.machines),
        ):
            try:
                name = resource_name(getattr(modeling, group), group, point)
            except ParcastError:  # the answer says what is wrong with the name
                continue
            beside = None if question.folder is None else question.folder / name
            if beside is not None and beside.is_file():
                texts[f"{group} {name}"] = beside.read_bytes()
            elif name in installed:
                texts[f"{group} {name}"] = installed[name].path.read_bytes()
            elif Path(name).is_file():
                texts[f"{group} {name}"] = Path(name).read_bytes()
    return {name: hashlib.sha256(text).hexdigest() for name, text in texts.items()}
