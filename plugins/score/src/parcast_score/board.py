"""The board: every dataset asked of every predictor, with digests of what was asked and said."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import attrs

from parcast import ParcastError, Prediction, Registry, Status
from parcast.errors import UnknownNameError, did_you_mean
from parcast.files import read_dataset
from parcast.model import Dataset, Question
from parcast.plugins import load
from parcast_score.digests import predictions_digest, question_digest
from parcast_score.solvers import predict_by
from parcast_score.statistics import Answer, Summary, summary

Predict = Callable[[Question], Sequence[Prediction]]


@attrs.frozen(kw_only=True)
class Score:
    """What a predictor said about a dataset, and what that is worth."""

    dataset: Dataset
    spec: str  #: the name or the folder by which the dataset is asked for
    predictor: str
    by_solver: bool  #: whether a solver answered, of a workload on a machine
    answers: tuple[Answer, ...]
    cpu_seconds: float = attrs.field(eq=False)  #: the only number that differs from run to run
    question: str  #: digest of all that the predictor was given
    predictions: str  #: digest of what it answered

    @property
    def blind(self) -> Summary:
        """What the answers at points that it had not seen are worth."""
        return summary([answer for answer in self.answers if answer.blind], self.answers)

    @property
    def calibrated(self) -> Summary:
        """What the answers at points that it had seen are worth."""
        return summary([answer for answer in self.answers if not answer.blind])

    @property
    def command(self) -> str:
        """The command that asks for this alone."""
        return f"parcast score {shlex.quote(self.spec)} -s {self.predictor}"


def datasets(registry: Registry, names: Sequence[str]) -> dict[str, Dataset]:
    """Return datasets by the name or folder asked; all that are installed where none is named.

    Raises
    ------
    UnknownNameError
        If nothing has a name, and no folder.
    FileError
        If a folder is no dataset.
    """
    installed = registry.measurements
    folders: dict[str, Path] = {}
    for name in names or installed:
        if name in installed:
            folders[name] = Path(str(installed[name].path))
        elif Path(name).is_dir() or "/" in name:
            folders[name] = Path(name)
        else:
            hint = did_you_mean(name, installed)
            installed_names = ", ".join(installed) or "none"
            raise UnknownNameError(
                f"No measured data are called {name!r}.{hint} Installed: {installed_names}; "
                "or name a folder."
            )
    return {name: read_dataset(folder) for name, folder in folders.items()}


def predictors(registry: Registry, dataset: Dataset, names: Sequence[str]) -> Iterator[str]:
    """Yield who is asked about a dataset: those named, or else every rule and its solvers."""
    rules, solvers = registry.predictors, {**registry.solvers, **registry.families}
    for name in names:
        if name not in rules and name not in solvers:
            hint = did_you_mean(name, {**rules, **solvers})
            raise UnknownNameError(
                f"No solver or predictor is called {name!r}.{hint} See parcast list solvers and "
                "parcast list predictors."
            )
        yield name
    if not names:
        missing = absent(registry, dataset)
        yield from (name for name in _unnamed(registry, dataset) if name not in missing)


def absent(registry: Registry, dataset: Dataset) -> dict[str, str]:
    """Return who is not asked about a dataset unless named, and what is to be installed first."""
    reasons: dict[str, str] = {}
    for name in _unnamed(registry, dataset):
        if name in registry.predictors:
            needs = registry.predictors[name].needs
            if needs and not find_spec(needs):
                reasons[name] = f"the module {needs} is not installed"
        elif name in registry.solvers:
            missing = getattr(load(registry.solvers[name].target)(), "missing", None)
            if missing is not None and (reason := missing()) is not None:
                reasons[name] = reason
        elif name not in registry.families:
            hint = did_you_mean(name, {**registry.solvers, **registry.families})
            reasons[name] = f"no solver of this name is installed.{hint}"
    return reasons


def _unnamed(registry: Registry, dataset: Dataset) -> Iterator[str]:
    """Yield every rule, where there is something to predict from, and the dataset's solvers."""
    if dataset.calibrating and dataset.blind:
        yield from registry.predictors
    if dataset.modeling is not None:
        yield from dataset.modeling.solvers


def score(registry: Registry, dataset: Dataset, name: str, spec: str = "") -> Score:
    """Ask a predictor about a dataset. It gets the question, which has no blind value in it."""
    question = dataset.question()
    digest = question_digest(registry, question)
    begin = _cpu_seconds()
    answered = predictions(registry, name, question)
    spent = _cpu_seconds() - begin
    measured = (*dataset.calibrating, *dataset.blind)
    visible = len(measured) if dataset.seen_by(name) else len(dataset.calibrating)
    answers = tuple(
        Answer(item, prediction, blind=index >= visible)
        for index, (item, prediction) in enumerate(zip(measured, answered, strict=True))
    )
    return Score(
        dataset=dataset,
        spec=spec or dataset.name,
        predictor=name,
        by_solver=name not in registry.predictors,
        answers=answers,
        cpu_seconds=spent,
        question=digest,
        predictions=predictions_digest(digest, name, question, answered),
    )


def _cpu_seconds() -> float:
    """Return the processor time of this process and of the programs that it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _predict(registry: Registry, name: str) -> Predict:
    if name in registry.predictors:
        return load(registry.predictors[name].target)  # type: ignore[no-any-return]
    return lambda question: predict_by(registry, name, question)


def predictions(registry: Registry, name: str, question: Question) -> list[Prediction]:
    """Return the answer to every point; a predictor that fails has failed at all of them."""
    count = len(question.points)
    try:
        answered = list(_predict(registry, name)(question))
    except Exception as error:  # noqa: BLE001  (a plugin may fail in any way)
        sentence = str(error) if isinstance(error, ParcastError) else repr(error)
        return [Prediction(status=Status.FAILED, message=sentence)] * count
    if len(answered) != count:
        message = f"{len(answered)} predictions for {count} points"
        return [Prediction(status=Status.FAILED, message=message)] * count
    return answered


def distances(scored: Score) -> list[float | None]:
    """Return of each answer its size over the largest of its series that calibrates."""
    largest: dict[str, float] = {}
    for item in scored.dataset.calibrating:
        name, size = item.point.series, item.point.size
        largest[name] = max(size, largest.get(name, size))
    points = [answer.measured.point for answer in scored.answers]
    return [
        point.size / largest[point.series] if point.series in largest else None for point in points
    ]
