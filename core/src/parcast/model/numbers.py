"""The numbers of a machine that time is made of, and machines on which some of them are better.

A machine on which every time is halved and every rate is doubled is twice as fast. So a run's time
is a sum of what each of these numbers contributes, and of what none of them changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args

import attrs

from parcast.model.answers import Answers
from parcast.model.machine import Machine
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Unit

#: How time enters a number's unit: 1 for a time (``s``, ``s/B``), -1 for a rate (``B/s``).
Exponent = Literal[1, -1]


def numbers_of(machine: Machine) -> tuple[str, ...]:
    """Return the key paths of the machine's times and rates that are not 0.

    Those of several tables of one key (``network.levels``) are told apart by the tables' names,
    and are one where these have none.
    """
    return _KEPT.once((machine,), lambda: _numbers_of(machine))


def _numbers_of(machine: Machine) -> tuple[str, ...]:
    numbers = (number for name, part in machine.parts.items() for number in _numbers(part, name))
    return tuple(dict.fromkeys(path for path, value in numbers if value))


def improved(machine: Machine, paths: Collection[str], factor: float) -> Machine:
    """Return the machine with times divided and rates multiplied by ``factor``.

    Parameters
    ----------
    machine
        As its file states it.
    paths
        Which numbers, as `numbers_of` names them.
    factor
        Above 1 for a better machine.
    """

    def better() -> Machine:
        parts = {name: _improved(part, name, paths, factor) for name, part in machine.parts.items()}
        return attrs.evolve(machine, parts=parts)

    return _KEPT.once((machine, *paths, factor), better)


#: The numbers of machines, and machines that are better: the same at every point of a comparison.
_KEPT = Answers(1_000)


def _numbers(table: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not attrs.has(type(table)):
        return
    for key, exponent in _fields(table.__class__):
        value = getattr(table, key)
        if exponent:
            yield f"{path}.{key}", any(value) if isinstance(value, tuple) else value
        else:
            for item in value if isinstance(value, tuple) else (value,):
                yield from _numbers(item, _path_of(item, f"{path}.{key}"))


def _improved(table: Any, path: str, paths: Collection[str], factor: float) -> Any:
    if not attrs.has(type(table)):
        return table
    changes = {}
    for key, exponent in _fields(table.__class__):
        value, where = getattr(table, key), f"{path}.{key}"
        if exponent:
            better = _scaled(value, factor**-exponent) if where in paths else value
        elif isinstance(value, tuple):
            better = tuple(_improved(item, _path_of(item, where), paths, factor) for item in value)
        else:
            better = _improved(value, where, paths, factor)
        if better != value:
            changes[key] = better
    return attrs.evolve(table, **changes) if changes else table


def _path_of(table: Any, path: str) -> str:
    """Return the path of one of several tables: with its name, if it has one."""
    name = getattr(table, "name", None)
    return f"{path}.{name}" if isinstance(name, str) and name else path


def _scaled(value: Any, factor: float) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(factor * item for item in value)
    return value.scaled(factor) if isinstance(value, Distribution) else factor * value


@cache
def _fields(table: type) -> tuple[tuple[str, Exponent | None], ...]:
    """Return the fields of a part that may hold times or rates: None for those of tables."""
    fields: list[tuple[str, Exponent | None]] = []
    for field in attrs.fields(attrs.resolve_types(table, include_extras=True)):
        units = list(_units(field.type))
        if not units:
            fields.append((field.name, None))
        elif exponent := _exponent(units[0].dimension):
            fields.append((field.name, exponent))
    return tuple(fields)


def _units(hint: Any) -> Iterator[Unit]:
    for item in (*getattr(hint, "__metadata__", ()), *get_args(hint)):
        if isinstance(item, Unit):
            yield item
        elif item is not NoneType and get_args(item):
            yield from _units(item)


def _exponent(dimension: str) -> Exponent | None:
    over, _, under = dimension.partition("/")
    if over == "s":
        return 1
    return -1 if under == "s" else None
