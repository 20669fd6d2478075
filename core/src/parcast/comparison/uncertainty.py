"""Uncertain numbers: what a time becomes when they take other values, and which of them matters.

Every uncertain number of machine, workload and settings is drawn anew for each sample, all
independently, and the point is asked about again, so that formulas see what was drawn. A number
has the same values at every point and for every solver, so that differences between these are no
accident of the draw.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison.grid import Question, Scenario
from parcast.comparison.settings import Settings
from parcast.comparison.solving import resolve, solve_all
from parcast.comparison.tasks import PASSING, Outcome, Task
from parcast.errors import FormulaError, ParcastError, UncertaintyError
from parcast.files.structuring import structure, uncertain_numbers
from parcast.files.tables import workload_from_data
from parcast.model.machine import Machine
from parcast.model.query import Prediction, Query, Status
from parcast.model.workload import Workload
from parcast.plugins.entries import load_class
from parcast.quantities.expressions import names_in, parse
from parcast.quantities.formulas import Unit, Whole, is_uncertain, parse_quantity

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

KeyPath = tuple[str | int, ...]  #: where in the data of a file a number stands

#: More samples than this of one point take minutes and tell no more.
MOST_SAMPLES = 100_000

#: The part of the samples that the interval holds.
LEVEL = 0.95

#: How often a value beyond its field's range is drawn anew.
_MOST_DRAWS = 100


@attrs.frozen
class _Number:
    """An uncertain number: its name, whose it is, where it stands there, and what it says."""

    name: str
    owner: str  #: machine, workload or settings
    path: KeyPath
    text: str
    field: Unit | Whole | None = None  #: what the field takes; a parameter takes anything


def check_uncertainty(samples: object, registry: Catalog, scenarios: Sequence[Scenario]) -> None:
    """Refuse a number of samples that is none, or that would have nothing to draw.

    Raises
    ------
    UncertaintyError
        If it is no whole number, 0 or 2 and more, or no number asked about is uncertain.
    """
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 0 or samples == 1:
        raise UncertaintyError(f"{samples!r} must be a number of samples, such as 200, or 0")
    if samples > MOST_SAMPLES:
        raise UncertaintyError(
            f"{samples:,} samples take too long; take at most {MOST_SAMPLES:,}: the ends of an "
            "interval of 1,000 are known to some per cent of its width"
        )
    if samples and not any(_is_uncertain(registry, scenario) for scenario in scenarios):
        raise UncertaintyError(
            "no number of machine, workload or settings is uncertain; state one, such "
            'as "27 +- 1 MB/s" or "25 to 29 MB/s"'
        )


def _is_uncertain(registry: Catalog, scenario: Scenario) -> bool:
    set_anew = scenario.settings.machine
    numbers = _numbers(registry, scenario.workload, scenario.machine, scenario.settings)
    unreplaced = any(number.owner != "machine" or number.name not in set_anew for number in numbers)
    return unreplaced or any(map(is_uncertain, set_anew.values()))


def spread(registry: Catalog, question: Question, samples: int) -> Mapping[str, Any] | None:
    """Return what ``samples`` draws of all uncertain numbers make of a point's time.

    Returns
    -------
    mapping or None
        ``samples`` that had an answer, their ``interval`` (`LEVEL` of them), ``median``, ``std``,
        and ``causes``: for each number the part of the variance that it explains (its squared
        rank correlation with the time), the largest first, without those that chance alone
        explains; ``interval`` is None where fewer than two had one. ``unanswered`` is there where
        samples had none: their ``count`` and the commonest ``reason``. None where nothing is
        uncertain.
    """
    import numpy as np

    query = question.query
    numbers = list(_numbers(registry, query.workload, query.machine, question.settings))
    if not numbers:
        return None
    values = {number: _draw(number, query.seed, samples) for number in numbers}
    tasks = [
        _task(registry, question, {number: float(drawn[index]) for number, drawn in values.items()})
        for index in range(samples)
    ]
    outcomes = solve_all(registry, tasks)
    unanswered = _unanswered(outcomes)
    answered = np.array([outcome.prediction.time is not None for outcome in outcomes])
    times = np.array(
        [outcome.prediction.time for outcome in outcomes if outcome.prediction.time is not None]
    )
    if times.size < 2:
        return {"samples": int(times.size), "interval": None, "causes": {}, **unanswered}
    causes = {number.name: _explained(drawn[answered], times) for number, drawn in values.items()}
    ordered = sorted(causes.items(), key=lambda pair: -pair[1])
    ends = np.quantile(times, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return {
        "samples": int(times.size),
        "level": LEVEL,
        "interval": [float(ends[0]), float(ends[2])],
        "median": float(ends[1]),
        "std": float(times.std(ddof=1)),
        "causes": {name: part for name, part in ordered if part > 9 / times.size},
        **unanswered,
    }


def _unanswered(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return how many samples have no time, the commonest reason, and whether that passes."""
    reasons = Counter(
        outcome.prediction.message or "the solver gives no time"
        for outcome in outcomes
        if outcome.prediction.time is None
    )
    if not reasons:
        return {}
    kinds = [outcome.prediction.details.get(PASSING) for outcome in outcomes]
    return {
        "unanswered": {"count": reasons.total(), "reason": reasons.most_common(1)[0][0]},
        **({PASSING: next(filter(None, kinds))} if any(kinds) else {}),
    }


def _explained(drawn: Any, times: Any) -> float:
    """Return the squared rank correlation; 0 where either does not vary."""
    import numpy as np

    first, second = (
        np.unique(sample, return_inverse=True)[1].astype(float) for sample in (drawn, times)
    )
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1] ** 2)


def _numbers(
    registry: Catalog, workload: Workload, machine: Machine, settings: Settings
) -> Iterator[_Number]:
    """Yield every uncertain number; a parameter that is set only where a setting reads it."""
    for part in machine.parts:
        if isinstance(machine.data.get(part), Mapping):
            target = load_class(registry.parts[part].target)
            for path, text, field in uncertain_numbers(machine.data[part], target, (part,)):
                yield _Number(_spelled(path), "machine", path, text, field)
    parameters = {k: v for k, v in settings.parameters.items() if k in workload.parameters}
    for name, value in parameters.items():
        if is_uncertain(value):
            yield _Number(name, "settings", (name,), value)
    kind = registry.kinds.get(workload.kind)
    if kind is None or kind.suffix is not None:
        return
    for path, text, field in uncertain_numbers(workload.data, load_class(kind.target)):
        yield _Number(_spelled(path), "workload", path, text, field)
    read = {name for value in parameters.values() for name in _names_read(value)}
    for name, value in workload.data.get("parameters", {}).items():
        if is_uncertain(value) and (name not in parameters or name in read):
            spelled = f"parameters.{name}" if name in parameters else name
            yield _Number(spelled, "workload", ("parameters", name), value)


def _names_read(value: object) -> frozenset[str]:
    try:
        return names_in(parse(str(value)))
    except FormulaError:  # a quantity
        return frozenset()


def _spelled(path: KeyPath) -> str:
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def _draw(number: _Number, seed: int, samples: int) -> Any:
    """Return values of an uncertain number, within the range of its field.

    A normal one whose mean is above 0 never is 0 or less: its tails are no statement.
    """
    import numpy as np

    from parcast.quantities.distributions import Distribution
    from parcast.quantities.replications import generator

    quantity = parse_quantity(number.text)
    rng = generator(seed, 0, "uncertainty", number.name)

    def draw(count: int) -> Any:
        if quantity.law == "normal":
            return rng.normal(quantity.value, quantity.spread, count)
        return Distribution(quantity.law, quantity.parameters).sample(rng, count)

    drawn = draw(samples)
    for _ in range(_MOST_DRAWS):
        wrong = np.zeros(samples, bool)
        if isinstance(number.field, Unit):
            wrong |= ~number.field.holds(drawn)
        if quantity.law == "normal" and quantity.value > 0:
            wrong |= drawn <= 0
        if not wrong.any():
            break
        drawn[wrong] = draw(int(wrong.sum()))
    return drawn  # what is still beyond has no answer, and its sample says so


def _task(
    registry: Catalog, question: Question, drawn: Mapping[_Number, float]
) -> Task | Prediction:
    """Return the question with these values, or why there is none."""
    try:
        query = _query(registry, question, drawn)
    except ParcastError as error:
        return Prediction(status=Status.INVALID, message=str(error))
    return resolve(registry, question.solver, query, question.settings)


def _query(registry: Catalog, question: Question, drawn: Mapping[_Number, float]) -> Query:
    query, settings = question.query, question.settings
    of: dict[str, dict[KeyPath, float]] = {"machine": {}, "workload": {}, "settings": {}}
    for number, value in drawn.items():
        of[number.owner][number.path] = value
    scenario = Scenario(
        workload=_workload_with(registry, query.workload, of["workload"]),
        machine=_machine_with(registry, query.machine, of["machine"]),
        settings=Settings(_with(settings.parameters, of["settings"]), {}, {}),
        mapping=query.mapping,
        seed=query.seed,
    )
    return scenario.query(registry, query.p, query.d)


def _workload_with(
    registry: Catalog, workload: Workload, numbers: Mapping[KeyPath, float]
) -> Workload:
    if not numbers:
        return workload
    data = _with(workload.data, numbers)
    return workload_from_data(data, workload.where, registry.kinds, workload.name)


def _machine_with(registry: Catalog, machine: Machine, numbers: Mapping[KeyPath, float]) -> Machine:
    """Return the machine, whose settings are in its data, with other numbers."""
    if not numbers:
        return machine
    data, parts = _with(machine.data, numbers), dict(machine.parts)
    for part in {str(path[0]) for path in numbers}:
        target: Any = load_class(registry.parts[part].target)
        parts[part] = structure(data[part], target, machine.where, part)
    return attrs.evolve(machine, parts=parts, data=data)


def _with(data: Mapping[str, Any], numbers: Mapping[KeyPath, float]) -> dict[str, Any]:
    """Return a copy of data with other numbers at these places."""
    copied = copy.deepcopy(dict(data))
    for path, number in numbers.items():
        table: Any = copied
        for key in path[:-1]:
            table = table[key]
        table[path[-1]] = number
    return copied
