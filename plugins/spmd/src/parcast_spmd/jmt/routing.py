"""Routing, forks and changes of class in simulation files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parcast.errors import FileError
from parcast_spmd.jmt.elements import Element, number, whole
from parcast_spmd.jmt.service import by_class, last

#: Where a class goes from a node: weights by name, None where it may not be, or why not.
Targets = Mapping[str, float] | str | None


def targets(strategy: Element, connected: Sequence[str], position: str) -> Targets:
    """Return where a routing strategy sends jobs, or why that has no exact solution.

    Raises
    ------
    FileError
        If its probabilities are not over connected stations or do not sum to 1.
    """
    kind = last(strategy.get("classPath"))
    if kind == "DisabledRoutingStrategy":
        return None
    if kind != "EmpiricalStrategy":
        if not connected:
            return f"{position}: no connection leads away; add one."
        if kind == "RandomStrategy" or len(connected) == 1:
            return dict.fromkeys(connected, 1 / len(connected))
        return (
            f"{position} is by {kind!r}, which looks at the past or at other stations and has no "
            "exact solution; give probabilities, or simulate it."
        )
    probabilities: dict[str, float] = {}
    for entry in strategy.iterfind("subParameter/subParameter"):
        values = {
            parameter.get("name"): (parameter.findtext("value") or "").strip()
            for parameter in entry
        }
        name = values.get("stationName", "")
        probability = number(values.get("probability"), f"{position}: probability of {name!r}")
        if probability and name not in connected:
            raise FileError(f"{position}: no connection leads to {name!r}; add it.")
        probabilities[name] = probabilities.get(name, 0.0) + probability
    total = sum(probabilities.values())
    if abs(total - 1) > 1e-6:
        return f"{position}: the probabilities sum to {total:.6g}, not to 1; mend them."
    return {name: probability / total for name, probability in probabilities.items() if probability}


def tasks(section: Element, name: str, connected: Sequence[str], position: str) -> Targets:
    """Return how many tasks of a job of a class a fork sends where, or why that is unknown."""
    parameters = {parameter.get("name", ""): parameter for parameter in section}
    if not connected:
        return f"{position}: no connection leads away; add one."
    simple = parameters.get("isSimplifiedFork")
    strategies = parameters.get("ForkStrategy")
    if strategies is None or simple is None or _value(simple) == "true":
        count = parameters.get("jobsPerLink")
        each = 1 if count is None else whole(_value(count), f"{position}: jobsPerLink")
        return dict.fromkeys(connected, float(each)) if each else f"{position}: no task is sent."
    strategy = by_class(strategies).get(name)
    if strategy is None:
        return None
    refusal = (
        f"{position} is by {last(strategy.get('classPath'))!r} with tasks by chance or of other "
        "classes; known is one task to each branch: simulate it."
    )
    if last(strategy.get("classPath")) != "ProbabilitiesFork":
        return refusal
    result: dict[str, float] = {}
    for path in strategy.iterfind("subParameter/subParameter"):
        chance, numbers = path.find("subParameter[@name='outUnitProbability']"), path.find(
            "subParameter[@name='JobsPerLinkDis']"
        )  # fmt: skip
        if chance is None or numbers is None or len(numbers) != 1:
            return refusal
        (entry,) = numbers
        sent, of = _entry(chance, "stationName"), _entry(entry, "numbers")
        if {_entry(chance, "probability"), _entry(entry, "probability")} != {"1.0"}:
            return refusal
        if sent not in connected:
            return f"{position}: no connection leads to {sent!r}; add it."
        result[sent] = float(whole(of, f"{position}: tasks to {sent!r}"))
    return result if result and all(result.values()) else refusal


def switched(section: Element, classes: Sequence[str], position: str) -> dict[str, Targets]:
    """Return into which classes each one turns, by probabilities.

    Raises
    ------
    FileError
        If they do not sum to 1.
    """
    matrix = section.find("parameter[@name='matrix']")
    rows = by_class(matrix) if matrix is not None else {}
    result: dict[str, Targets] = {}
    for name in classes:
        cells = by_class(rows[name]) if name in rows else {}
        place = f"{position}: change of {name!r}"
        weights = {other: number(cell.findtext("value"), place) for other, cell in cells.items()}
        strange = sorted(set(weights) - set(classes))
        if strange:
            raise FileError(f"{place}: {strange[0]!r} is no class; name one.")
        total = sum(weights.values())
        result[name] = (
            {other: weight / total for other, weight in weights.items() if weight}
            if abs(total - 1) <= 1e-6
            else f"{place}: the probabilities sum to {total:.6g}, not to 1; mend them."
        )
    return result


def _value(element: Element) -> str:
    return (element.findtext("value") or "").strip()


def _entry(element: Element, name: str) -> str:
    child = element.find(f"subParameter[@name='{name}']")
    return "" if child is None else _value(child)
