"""What settings stand for: numbers, formulas of p and d, and machines with values replaced."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import FileError, FormulaError, ParcastError, UnitError, shorten
from parcast.files.structuring import structure
from parcast.model.machine import Machine
from parcast.plugins.entries import load_class
from parcast.quantities.expressions import Expr, Value, evaluate, names_in, parse
from parcast.quantities.formulas import is_quantity, is_uncertain, parse_quantity
from parcast.quantities.units import check_spread

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


def number_of(name: str, value: Any, names: Mapping[str, Value]) -> Value:
    """Return the number that a parameter is set to; a formula sees these names.

    Raises
    ------
    FormulaError
        If it is none.
    """
    try:
        if not isinstance(value, str) or is_uncertain(value):
            number = parse_quantity(value).value
            return value if isinstance(value, int) else number
        check_spread(value)
        try:
            return evaluate(parse(value), names)
        except FormulaError:
            if not is_quantity(value):
                raise
            return parse_quantity(value).value
    except ParcastError as error:
        raise FormulaError(f"{name}={shorten(value)}: {error}") from None


def plain_value(path: str, value: Any, p: int, d: int) -> Any:
    """Return the value of a formula of p and d; anything else as it is."""
    formula = meant(value)
    if not isinstance(formula, Expr):
        return formula
    try:
        check_spread(value)
        return evaluate(formula, {"p": p, "d": d})
    except (FormulaError, UnitError) as error:
        raise FormulaError(f"{path}={shorten(value)}: {error}") from None


def meant(value: Any) -> Any:
    """Return true, false or a formula of p and d alone where a text is that, else the value."""
    return _read(value) if isinstance(value, str) else value


@lru_cache(maxsize=1024)
def _read(text: str) -> Expr | str | bool:
    if text in {"true", "false"}:
        return text == "true"
    if is_uncertain(text):  # 27 +- 1 is no sum
        return text
    try:
        expr = parse(text)
    except FormulaError:
        return text
    return expr if names_in(expr) <= {"p", "d"} else text


def set_values(machine: Machine, registry: Catalog, values: Mapping[str, Any]) -> Machine:
    """Return the machine with the values at these key paths replaced.

    Raises
    ------
    FileError
        If the machine can have no such value; the setting is named.
    """
    for path, value in values.items():
        machine = _replaced(machine, registry, path, value)
    return machine


def _replaced(machine: Machine, registry: Catalog, path: str, value: Any) -> Machine:
    part, *keys = path.split(".")
    data: dict[str, Any] = dict(machine.data)
    if part in machine.parts and part not in data:
        raise FileError(f"machine {machine.name!r} was not read from data; {path} cannot be set")
    table = data[part] = copy.deepcopy(data.get(part, {}))
    for key in keys[:-1]:
        table = table.setdefault(key, {})
        if not isinstance(table, dict):
            raise FileError(f"{path}: {key!r} is no table of machine {machine.name!r}")
    table[keys[-1]] = value
    replaced: Any = structure(
        data[part], load_class(registry.parts[part].target), f"{path}={value}", part
    )
    return attrs.evolve(machine, parts={**machine.parts, part: replaced}, data=data)
