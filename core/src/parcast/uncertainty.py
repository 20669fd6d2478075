"""Uncertain numbers: what a time becomes when they take other values, and which of them matters.

Every uncertain number of machine, workload and settings is drawn anew for each sample, all
independently, and the point is answered again. A number has the same values at every point and
for every solver, so that differences between these are no accident of the draw.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast.asking import Asked, Line
from parcast.entries import load_class
from parcast.errors import ParcastError, SolveError, UnknownNameError
from parcast.files import machine_from_data, uncertain_numbers, workload_from_data
from parcast.machine import Machine
from parcast.query import Query
from parcast.tasks import resolve, solve_all
from parcast.units import is_uncertain, parse_quantity
from parcast.workload import Workload

if TYPE_CHECKING:
    from parcast.registry import Registry

Place = tuple[str | int, ...]  #: where in the data of a file a number stands
Draws = "npt.NDArray[np.float64]"

#: The part of the samples that the interval holds.
LEVEL = 0.95

#: A number that is still not above 0 after so many draws hardly ever is.
_MOST_DRAWS = 100


def check_uncertainty(samples: object, registry: Registry, lines: Sequence[Line]) -> None:
    """Refuse a number of samples that is none, or that would have nothing to draw.

    Raises
    ------
    UnknownNameError
        If it is no whole number, 0 or 2 and more, or no number asked about is uncertain.
    """
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 0 or samples == 1:
        raise UnknownNameError(
            f"uncertainty {samples!r} must be a number of samples, such as 200, or 0"
        )
    if samples and not any(_is_uncertain(registry, line) for line in lines):
        raise UnknownNameError(
            "uncertainty: no number of machine, workload or settings is uncertain; state one, such "
            'as "27 +- 1 MB/s" or "25 to 29 MB/s"'
        )


def _is_uncertain(registry: Registry, line: Line) -> bool:
    settings = {**line.settings.parameters, **line.settings.machine}
    found = any(map(is_uncertain, settings.values()))
    found |= any(True for _ in _of_machine(registry, line.machine))
    return found or any(True for _ in _of_workload(registry, line.workload))


def spread(registry: Registry, asked: Asked, samples: int) -> Mapping[str, Any] | None:
    """Return what ``samples`` draws of all uncertain numbers make of a point's time.

    Returns
    -------
    mapping or None
        ``samples`` that had an answer, their ``interval`` (`LEVEL` of them), ``median``, ``std``,
        and ``causes``: for each number the part of the variance that it explains (its squared
        rank correlation with the time), the largest first, without those that chance alone
        explains. None where nothing is uncertain.
    """
    import numpy as np

    queries, values = _sampled(registry, asked, samples)
    if not values:
        return None
    tasks = [resolve(registry, asked.solver, query, asked.settings) for query in queries]
    answers = [outcome.prediction.time for outcome in solve_all(registry, tasks)]
    known = np.array([time is not None for time in answers])
    times = np.array([time for time in answers if time is not None])
    if times.size < 2:
        return {"samples": int(times.size), "interval": None, "causes": {}}
    causes = {name: _explained(drawn[known], times) for name, drawn in values.items()}
    ordered = sorted(causes.items(), key=lambda pair: -pair[1])
    ends = np.quantile(times, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return {
        "samples": int(times.size),
        "level": LEVEL,
        "interval": [float(ends[0]), float(ends[2])],
        "median": float(ends[1]),
        "std": float(times.std(ddof=1)),
        "causes": {name: part for name, part in ordered if part > 9 / times.size},
    }


def _explained(drawn: Any, times: Any) -> float:
    """Return the squared rank correlation; 0 where either does not vary."""
    import numpy as np

    first, second = (np.unique(one, return_inverse=True)[1].astype(float) for one in (drawn, times))
    if first.std() == 0 or second.std() == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1] ** 2)


def _sampled(registry: Registry, asked: Asked, samples: int) -> tuple[list[Query], dict[str, Any]]:
    """Return the queries of all samples, and the values of each uncertain number in them."""
    query = asked.query
    machine = dict(_of_machine(registry, query.machine))
    workload = dict(_of_workload(registry, query.workload))
    given = {
        name: value
        for name, value in asked.settings.parameters.items()
        if name in query.parameters and is_uncertain(value)
    }
    overridden = {("parameters", name) for name in query.parameters}
    workload = {place: text for place, text in workload.items() if place not in overridden}
    named = {
        **{_spelled(place): text for place, text in machine.items()},
        **{_spelled(place).removeprefix("parameters."): text for place, text in workload.items()},
        **given,
    }
    values = {name: _draw(name, text, query.seed, samples) for name, text in named.items()}
    queries = []
    for index in range(samples):
        at = {name: float(drawn[index]) for name, drawn in values.items()}
        queries.append(
            attrs.evolve(
                query,
                machine=_with(registry, query.machine, {k: at[_spelled(k)] for k in machine}),
                workload=_with(
                    registry,
                    query.workload,
                    {k: at[_spelled(k).removeprefix("parameters.")] for k in workload},
                ),
                parameters={**query.parameters, **{name: at[name] for name in given}},
            )
        )
    return queries, values


def _of_machine(registry: Registry, machine: Machine) -> Iterator[tuple[Place, str]]:
    for part in machine.parts:
        if isinstance(machine.data.get(part), Mapping):
            target = load_class(registry.parts[part].target)
            yield from uncertain_numbers(machine.data[part], target, (part,))


def _of_workload(registry: Registry, workload: Workload) -> Iterator[tuple[Place, str]]:
    kind = registry.kinds.get(workload.kind)
    if kind is None or kind.suffix is not None:
        return
    yield from uncertain_numbers(workload.data, load_class(kind.target))
    for name, value in workload.data.get("parameters", {}).items():
        if is_uncertain(value):
            yield ("parameters", name), value


def _spelled(place: Place) -> str:
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")


def _draw(name: str, text: str, seed: int, samples: int) -> Any:
    """Return values of an uncertain number; one whose mean is above 0 never is 0 or less."""
    from parcast.distributions import Distribution
    from parcast.replications import generator

    quantity, rng = parse_quantity(text), generator(seed, 0, "uncertainty", name)

    def draw(count: int) -> Any:
        if quantity.law == "normal":
            return rng.normal(quantity.value, quantity.spread, count)
        return Distribution(quantity.law, quantity.parameters).sample(rng, count)

    drawn = draw(samples)
    for _ in range(_MOST_DRAWS):
        wrong = drawn <= 0
        if quantity.value <= 0 or not wrong.any():
            return drawn
        drawn[wrong] = draw(int(wrong.sum()))
    raise SolveError(f"{name} = {text!r} is hardly ever above 0; state less uncertainty")


def _with(registry: Registry, stated: Any, numbers: Mapping[Place, float]) -> Any:
    """Return a machine or workload with other numbers at these places of its data."""
    if not numbers:
        return stated
    data = copy.deepcopy(dict(stated.data))
    for place, number in numbers.items():
        table: Any = data
        for key in place[:-1]:
            table = table[key]
        table[place[-1]] = number
    try:
        if isinstance(stated, Machine):
            return machine_from_data(data, stated.where, registry.parts, stated.name)
        return workload_from_data(data, stated.where, registry.kinds, stated.name)
    except ParcastError as error:
        raise SolveError(f"a sample is not possible: {error}") from None
