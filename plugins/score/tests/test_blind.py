"""Nobody sees a measured value of a point that is to be predicted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import attrs
import pytest

import parcast_score
from parcast import Prediction, Registry, Resource, hookimpl
from parcast.files import read_dataset
from parcast.model import Modeling
from parcast.testing import seeds
from parcast_score import board
from parcast_score.board import predictors, score
from parcast_score.digests import predictions_digest, question_digest

REGISTRY = Registry([parcast_score])
DATASETS = {
    name: read_dataset(Path(str(entry.path))) for name, entry in REGISTRY.measurements.items()
}
WITH_BLIND = [name for name, dataset in DATASETS.items() if dataset.blind]


def reached(value: object, seen: set[int]) -> Iterator[object]:
    """Yield all that a value holds, however deep, attributes and caches included."""
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif attrs.has(type(value)):
        parts = [getattr(value, field.name) for field in attrs.fields(type(value))]
    else:
        parts = []
    parts += list(vars(value).values()) if hasattr(value, "__dict__") else []
    for part in parts:
        yield from reached(part, seen)


def marked(dataset, factor):
    """Return the dataset with other values at its blind points, which nothing else holds."""
    blind = [
        attrs.evolve(item, seconds=factor * (7.123456789e40 + index), bottleneck="storage")
        for index, item in enumerate(dataset.blind)
    ]
    return attrs.evolve(dataset, blind=tuple(blind))


@pytest.mark.parametrize("name", WITH_BLIND)
def test_a_question_holds_no_blind_value(name):
    dataset = marked(DATASETS[name], 1)
    values = {item.seconds for item in dataset.blind}
    holds = [value for value in reached(dataset.question(), set()) if isinstance(value, float)]
    assert len(holds) >= len(dataset.calibrating)
    assert not values.intersection(holds)
    assert values.intersection(value for value in reached(dataset, set()) if type(value) is float)


@pytest.mark.parametrize("name", [name for name in WITH_BLIND if DATASETS[name].calibrating])
def test_other_blind_values_change_no_prediction(name):
    for seed in seeds(3):
        other = marked(DATASETS[name], random.Random(seed).uniform(0.1, 10))
        for predictor in predictors(REGISTRY, other, ()):
            first = score(REGISTRY, DATASETS[name], predictor)
            second = score(REGISTRY, other, predictor)
            assert (first.question, first.predictions) == (second.question, second.predictions)


def test_a_predictor_gets_the_question_and_nothing_else(monkeypatch):
    dataset, got = marked(DATASETS["sailor"], 1), []

    def spy(*arguments):
        got.append(arguments)
        return [Prediction(time=1.0)] * len(arguments[0].points)

    monkeypatch.setattr(board, "_predict", lambda *_: spy)
    scored = score(REGISTRY, dataset, "ideal")
    ((question,),) = got
    assert question == dataset.question()
    assert [answer.blind for answer in scored.answers].count(True) == len(dataset.blind)


@pytest.mark.parametrize("name", WITH_BLIND)
def test_what_calibrates_is_smaller_than_what_is_blind(name):
    dataset = DATASETS[name]
    for item in dataset.blind:
        sizes = [
            other.point.size
            for other in dataset.calibrating
            if other.point.series == item.point.series
        ]
        assert all(size < item.point.size for size in sizes)


@pytest.mark.parametrize("change", ["calibrating", "points", "unit"])
def test_the_digest_of_the_question_covers_what_is_asked(change):
    dataset = DATASETS["sailor"]
    first = dataset.calibrating[0]
    evolved = {
        "calibrating": {"calibrating": (attrs.evolve(first, seconds=2.0),)},
        "points": {"blind": dataset.blind[1:]},
        "unit": {"units": {**dataset.units, "tp": "B"}},
    }[change]
    other = attrs.evolve(dataset, **evolved)
    assert question_digest(REGISTRY, other.question()) != question_digest(
        REGISTRY, dataset.question()
    )


@pytest.mark.parametrize("where", ["installed", "beside", "elsewhere"])
def test_the_digest_of_the_question_covers_the_text_of_the_machine(tmp_path, monkeypatch, where):
    """A machine that another name or text stands for makes another question."""
    machine = tmp_path / ("sub" if where == "beside" else ".") / "m.toml"
    machine.parent.mkdir(exist_ok=True)
    monkeypatch.chdir(tmp_path)
    plugin = SimpleNamespace(
        __name__="shipping", parcast_machines=hookimpl(lambda: [Resource("m", machine)])
    )
    registry = Registry([plugin] if where == "installed" else [])
    spec = "m" if where == "installed" else "m.toml"
    question = attrs.evolve(
        DATASETS["sailor"].question(),
        modeling=Modeling(workload="none", machine=spec),
        folder=machine.parent if where == "beside" else DATASETS["sailor"].folder,
    )
    texts = ('name = "m"\n[processor]\nrate = 1.0\n', 'name = "m"\n[processor]\nrate = 2.0\n')
    digests = []
    for text in texts:
        machine.write_text(text)
        digests.append(question_digest(registry, question))
    assert digests[0] != digests[1]


def test_the_digest_of_the_predictions_is_that_of_their_times_but_for_last_digits():
    question = DATASETS["sailor"].question()

    def digest(time, high):
        answered = [Prediction(time=time, quantiles={0.9: high}) for _ in question.points]
        return predictions_digest("asked", "mine", question, answered)

    usual = digest(0.0093464255, 1.5)
    for factor in (1 - 1e-14, 1 + 1e-14):  # five at the seventh digit, which rounds either way
        assert digest(0.0093464255 * factor, 1.5 * factor) == usual
    others = digest(0.0093465, 1.5), digest(0.0093464255, 1.50001), digest(None, 1.5), digest(0, 0)
    assert len({usual, *others}) == 5
