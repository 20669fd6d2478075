"""The keys of a table of a file: what each takes, its default, and what it is."""

from __future__ import annotations

import inspect
import io
import tokenize
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import attrs

from parcast.cli.takes import takes
from parcast.model.machine import Machine
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Formula, Unit

#: Classes that stand for one value, not for a table.
_VALUES = (Formula, Distribution, Machine)


@attrs.frozen
class Key:
    """A key of a table."""

    name: str  #: with the tables it stands in: ``groups[].weight``
    takes: str
    unit: str  #: the base unit; ``""`` where it takes no number, or one without a unit
    default: str  #: ``"required"`` where it has none, ``""`` where it may be left out
    meaning: str

    @property
    def required(self) -> bool:
        """Whether the table needs it."""
        return self.default == "required"


def keys(table: type, prefix: str = "", around: tuple[type, ...] = ()) -> Iterator[Key]:
    """Yield the keys of an attrs class, for a table in it those of that table.

    A comment that starts with ``#:`` says what a field is: above it, or at the end of its line.
    ``prefix`` and ``around`` are the path and the classes of the tables that it stands in.
    """
    comments = _comments(table)
    for field in attrs.fields(attrs.resolve_types(table)):
        if not field.init or field.name.startswith("_"):
            continue
        name, kind = f"{prefix}{field.name}", _stated(field.type)
        inner = [
            variant
            for variant in (kind, *get_args(kind))
            if isinstance(variant, type) and attrs.has(variant)
        ]
        if inner and inner[0] not in (*_VALUES, table, *around):
            several = "[]" if get_origin(kind) is tuple else ""
            yield from keys(inner[0], f"{name}{several}.", (*around, table))
        else:
            unit = next((hint.dimension for hint in _units(kind) if hint.dimension != "1"), "")
            meaning = comments.get(field.name, "")
            yield Key(name, takes(kind), unit, _default(field.default, unit), meaning)


def _stated(kind: Any) -> Any:
    """Return the type of a field where it is stated: ``float`` of ``float | None``."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    variants = [variant for variant in get_args(kind) if variant is not NoneType]
    return variants[0] if len(variants) == 1 else Union[tuple(variants)]  # noqa: UP007


def _units(kind: Any) -> Iterator[Unit]:
    for variant in (kind, *get_args(kind)):
        for hint in getattr(variant, "__metadata__", ()):
            if isinstance(hint, Unit):
                yield hint


def _default(default: Any, unit: str) -> str:
    if default is attrs.NOTHING:
        return "required"
    if isinstance(default, attrs.Factory) or default in (None, "", ()):  # type: ignore[arg-type]
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, Distribution):
        return f"{default.law}:{','.join(f'{number:g}' for number in default.parameters)}"
    number = f"{default:g}" if isinstance(default, float) else getattr(default, "text", default)
    return f"{number} {unit}".strip()


def _comments(table: type) -> dict[str, str]:
    """Return what the ``#:`` comments of a class say of its fields, those it inherits included."""
    comments: dict[str, str] = {}
    for base in reversed(table.__mro__[:-1]):
        try:
            comments |= dict(_comments_in(inspect.getsource(base)))
        except (OSError, TypeError):  # no source is installed
            continue
    return comments


def _comments_in(source: str) -> Iterator[tuple[str, str]]:
    above: list[str] = []
    line: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(inspect.cleandoc(source)).readline):
        text = token.string.removeprefix("#:").strip()
        if token.type == tokenize.COMMENT and token.string.startswith("#:"):
            above.append(text)
        elif token.type == tokenize.NEWLINE:
            if len(line) > 1 and line[1].string == ":" and line[0].type == tokenize.NAME and above:
                yield line[0].string, " ".join(above)
            above, line = [], []
        elif token.type not in _LAYOUT:
            line.append(token)


_LAYOUT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}
