"""Data as attrs classes: every unit, key and type checked, errors with their key path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import attrs

from parcast.errors import FileError, ParcastError, did_you_mean
from parcast.model.machine import Machine
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Formula, Unit, Whole, is_uncertain, to_base

T = TypeVar("T")


def structure(data: object, target: type[T], where: str, path: str) -> T:
    """Return ``data`` as a ``target``, an attrs class, checking every unit and key.

    Raises
    ------
    FileError
        Naming ``where``, the key path below ``path``, the value and what was expected.
    """
    from cattrs import BaseValidationError

    try:
        _check_shape(data, target, path)
    except FileError as error:
        raise FileError(f"{where}: {error}") from None
    try:
        result: T = _converter().structure(data, target)
    except (BaseValidationError, ParcastError, ValueError) as error:
        problems = list(_problems(error, path))
        others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise FileError(f"{where}: {problems[0]}{others}") from None
    return result


def _problems(error: BaseException, path: str) -> Iterator[str]:
    from cattrs import ClassValidationError, IterableValidationError
    from cattrs.errors import ForbiddenExtraKeysError

    if isinstance(error, ClassValidationError):
        inner, plain = error.group_exceptions()
        for exception, note in inner:
            missing = isinstance(exception, KeyError)
            below = path if missing else f"{path}.{note.name}".lstrip(".")
            yield from _problems(exception, below)
        for exception in plain:
            yield from _problems(exception, path)
    elif isinstance(error, IterableValidationError):
        for exception, index in error.group_exceptions()[0]:
            yield from _problems(exception, f"{path}[{index.index}]")
    elif isinstance(error, ForbiddenExtraKeysError):
        names = [field.name for field in attrs.fields(error.cl)]
        for key in sorted(map(str, error.extra_fields)):
            hint = did_you_mean(key, names) or f" Known: {', '.join(names)}."
            where = f"{path}.{key}".lstrip(".")
            yield f"unknown key {where!r}.{hint}"
    elif isinstance(error, KeyError):
        where = f"{path}.{error.args[0]}".lstrip(".")
        yield f"missing key {where!r}"
    else:
        yield f"{path}: {error}" if path else str(error)


@cache
def _converter() -> Any:
    """Return the one cattrs converter: strict about keys, units and types."""
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn

    converter = Converter(forbid_extra_keys=True)
    for kind in _WORDS:
        converter.register_structure_hook(kind, _plain)
    converter.register_structure_hook(Machine, _machine)
    converter.register_structure_hook_factory(
        _is_table_of_numbers, lambda kind: make_dict_structure_fn(kind, converter)
    )
    converter.register_structure_hook_func(_is_choice, _choice)
    converter.register_structure_hook_func(lambda t: bool(_marker(t)), _number)
    return converter


def _check_shape(data: object, target: type, path: str) -> None:
    """Refuse what is no table, and a table where a list of tables belongs."""
    if not isinstance(data, Mapping):
        raise FileError(f"{path}: {data!r} must be a table")
    for field, inner in _fields_of_tables(target):
        value, kind = data.get(field.name), field.type
        if value is None and (type(None) in get_args(kind) or field.name not in data):
            continue
        below = f"{path}.{field.name}".lstrip(".")
        if get_origin(kind) is not tuple:
            _check_shape(value, inner, below)
        elif isinstance(value, list | tuple) and (value or field.default is not attrs.NOTHING):
            for index, item in enumerate(value):
                _check_shape(item, inner, f"{below}[{index}]")
        else:
            raise FileError(f"{below}: needs a list of tables; write [[{below}]]")


@cache
def _fields_of_tables(target: type) -> tuple[tuple[Any, type], ...]:
    """Return the fields of a class that are tables or lists of them, and the class of these."""
    fields = []
    for field in attrs.fields(attrs.resolve_types(target)):
        kinds = (field.type, *get_args(field.type))
        inner = next((t for t in kinds if isinstance(t, type) and attrs.has(t)), None)
        if inner is not None and inner not in (Formula, Distribution, Machine):
            fields.append((field, inner))
    return tuple(fields)


def uncertain_numbers(
    data: Any, target: type, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str, Unit | Whole]]:
    """Yield where ``data`` states numbers with an uncertainty, these, and what the field takes."""
    for field in attrs.fields(attrs.resolve_types(target)):
        kind: Any = field.type
        value, below = data.get(field.name), (*path, field.name)
        inner = next((t for t in get_args(kind) if isinstance(t, type) and attrs.has(t)), None)
        if number := _of_number(kind):
            if is_uncertain(value):
                yield below, value, number
        elif isinstance(kind, type) and attrs.has(kind) and isinstance(value, Mapping):
            yield from uncertain_numbers(value, kind, below)
        elif inner is not None and isinstance(value, Mapping):
            yield from uncertain_numbers(value, inner, below)
        elif inner is not None and isinstance(value, list | tuple):
            for index, item in enumerate(value):
                yield from uncertain_numbers(item, inner, (*below, index))


def _of_number(kind: Any) -> Unit | Whole | None:
    """Return what a field takes that is a number, or may be one."""
    for variant in (kind, *get_args(kind)):
        if (marker := _marker(variant)) and get_args(variant)[0] is not Distribution:
            return marker
    return None


def _marker(kind: Any) -> Unit | Whole | None:
    origin: Any = get_origin(kind)
    if origin is Annotated:
        return next((m for m in get_args(kind)[1:] if isinstance(m, Unit | Whole)), None)
    return None


def _number(value: object, kind: Any) -> Any:
    marker = _marker(kind)
    if isinstance(marker, Whole):
        whole = _plain(value, int)
        if whole < marker.least:
            raise FileError(f"{value!r} must be {marker.least} or more")
        if whole >= 2**63:
            raise FileError("a whole number must be below 2**63")
        return whole
    assert marker is not None
    if get_args(kind)[0] is Formula:
        return Formula.read(value, marker)
    if get_args(kind)[0] is Distribution:
        law = Distribution.read(value, marker.dimension)
        marker.check(law.mean, value)
        return law
    return marker.check(to_base(value, marker.dimension), value)


_WORDS = {str: "text", int: "a whole number", bool: "true or false", float: "a number"}


def _plain(value: object, kind: Any) -> Any:
    accepted = (int, float) if kind is float else kind
    flag = isinstance(value, bool) and kind is not bool
    if not isinstance(value, accepted) or flag or (kind is float and not math.isfinite(value)):
        raise FileError(f"{value!r} must be {_WORDS[kind]}")
    return value


def _machine(value: object, _kind: Any) -> Machine:
    if not isinstance(value, Machine):
        raise FileError(f"{value!r} must be a machine")
    return value


def _is_table_of_numbers(kind: Any) -> bool:
    """Return whether fields can be asked for by name as well, which cattrs takes for no class."""
    return isinstance(kind, type) and attrs.has(kind) and issubclass(kind, Mapping)


def _is_choice(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Literal


def _choice(value: object, kind: Any) -> Any:
    choices = get_args(kind)
    if value not in choices:
        hint = did_you_mean(str(value), choices)
        raise FileError(f"{value!r} must be {' or '.join(map(repr, choices))}.{hint}")
    return value
