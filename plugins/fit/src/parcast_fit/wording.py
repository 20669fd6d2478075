"""Numbers with their units, and null directions and combinations in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parcast_fit.identifiability import DeterminedCombination
from parcast_fit.parameters import Floats, Parameter

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def dimension(parameter: Parameter) -> str:
    """Return the dimension of a parameter; a workload's have none."""
    return (
        parameter.unit.dimension
        if parameter.unit is not None and parameter.unit.dimension != "1"
        else ""
    )


def show(value: float, unit: str, digits: int = 4) -> str:
    """Return a number of base units as people read it: ``27.3 MB/s``."""
    if not np.isfinite(value):
        return "unlimited"
    if unit in {"", "s/B"}:
        return f"{value:.{digits}g} {unit}".rstrip()
    scales = _SECONDS if unit == "s" else [(factor, f"{p}{unit}") for factor, p in _PREFIXES]
    fitting = (pair for pair in scales if abs(value) >= pair[0] * (1 - 1e-12))
    factor, word = next(fitting, scales[0] if value == 0 or unit != "s" else scales[-1])
    return f"{value / factor:.{digits}g} {word}"


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def direction_sentence(
    parameters: Sequence[Parameter], values: Floats, relative: Floats, *, exact: bool
) -> str:
    """Return what a null direction is: ``raising a while lowering b by as much changes nothing``.

    Parameters
    ----------
    parameters, values
        All that are free, and their fitted values.
    relative
        Their relative changes along the direction, the first that is not 0 positive.
    exact
        Whether a finite step was found to change nothing.
    """
    end = "changes nothing" if exact else "changes next to nothing near the fit"
    members = np.flatnonzero(relative).tolist()
    if len(members) == 1:
        return f"changing {parameters[members[0]].name} alone {end}"
    amounts, sizes = np.abs(relative * values), np.abs(relative)
    units = {dimension(parameters[j]) for j in members} - {""}
    alike = [j for j in members if amounts[j] > 0.99 * amounts.max()]
    by = "as much"
    if len(alike) < 2 or len(units) > 1:
        alike, by = [j for j in members if sizes[j] > 0.99 * sizes.max()], "the same factor"
    remaining = [parameters[j].name for j in members if j not in alike]
    if len(alike) > len(remaining):
        up = [parameters[j].name for j in alike if relative[j] > 0]
        down = [parameters[j].name for j in alike if relative[j] < 0]
        adjusted = f", with {listed(remaining)} adjusted," if remaining else ""
        return f"{_both(up, down)} by {by}{adjusted} {end}"
    shares = [
        f"{'raising' if relative[j] > 0 else 'lowering'} {parameters[j].name} by "
        f"{sizes[j] / sizes.max():.3g} %"
        for j in members
    ]
    return f"{listed(shares)} {end}"


def _both(up: Sequence[str], down: Sequence[str]) -> str:
    if not down:
        return f"raising {listed(up)}"
    return f"raising {listed(up)} while lowering {listed(down)}"


def combination_text(combination: DeterminedCombination, parameters: Sequence[Parameter]) -> str:
    """Return ``a + 2 b`` or ``a b^2 / c``."""
    if not combination.product:
        text = ""
        for j, weight in combination.weights:
            sign = (" - " if weight < 0 else " + ") if text else ("-" if weight < 0 else "")
            factor = "" if abs(weight) == 1 else f"{abs(weight):.4g} "
            text += f"{sign}{factor}{parameters[j].name}"
        return text
    text = ""
    for j, weight in combination.weights:
        sign = (" / " if weight < 0 else " * ") if text else ("1 / " if weight < 0 else "")
        power = "" if abs(weight) == 1 else f"^{abs(weight):.4g}"
        text += f"{sign}{parameters[j].name}{power}"
    return text


def combination_value(combination: DeterminedCombination, values: Floats) -> float:
    """Return its value at the fit, in base units."""
    if combination.product:
        return float(np.prod([values[j] ** weight for j, weight in combination.weights]))
    return float(sum(weight * values[j] for j, weight in combination.weights))
