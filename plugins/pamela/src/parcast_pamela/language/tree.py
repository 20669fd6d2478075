"""What a model consists of: frozen values, equal wherever they stand."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs

from parcast_pamela.language.positions import Position


def _position() -> Any:
    return attrs.field(default=None, eq=False, repr=False, kw_only=True)


@attrs.frozen
class Number:
    """A literal; its unit is already multiplied in, and ``dimension`` remembers it."""

    value: Fraction
    dimension: tuple[tuple[str, int], ...] = ()
    position: Position | None = _position()


@attrs.frozen
class Name:
    """A parameter, a formal, an index or a let without arguments."""

    name: str
    position: Position | None = _position()


@attrs.frozen
class Item:
    """An element of an array parameter."""

    name: str
    indices: tuple[Expression, ...]
    position: Position | None = _position()


@attrs.frozen
class Apply:
    """An operator by its sign (``neg``, ``?:``), a built-in function or a let, by name."""

    name: str
    arguments: tuple[Expression, ...]
    position: Position | None = _position()


@attrs.frozen
class Reduce:
    """``sum``, ``prod``, ``max`` or ``min`` over an index."""

    name: str
    index: str
    first: Expression
    last: Expression
    body: Expression
    position: Position | None = _position()


@attrs.frozen
class Multiplicity:
    """``|r[i]|``: how many servers a resource has."""

    resource: str
    indices: tuple[Expression, ...]
    position: Position | None = _position()


Expression = Number | Name | Item | Apply | Reduce | Multiplicity


@attrs.frozen
class Use:
    """Service from one resource, for so many seconds."""

    resource: str
    indices: tuple[Expression, ...]
    time: Expression
    position: Position | None = _position()


@attrs.frozen
class Delay:
    """Time that passes without any resource."""

    time: Expression
    position: Position | None = _position()


@attrs.frozen
class Sequence:
    """One after the other; none at all is ``skip``."""

    parts: tuple[Process, ...] = ()
    position: Position | None = _position()


@attrs.frozen
class Parallel:
    """All at once, until the last one ends."""

    parts: tuple[Process, ...]
    position: Position | None = _position()


@attrs.frozen
class Loop:
    """``seq`` or ``par`` over an index."""

    parallel: bool
    index: str
    first: Expression
    last: Expression
    step: Expression | None
    body: Process
    position: Position | None = _position()


@attrs.frozen
class If:
    """A condition, with ``bern(p)`` for one that is true with probability p."""

    condition: Expression
    then: Process
    otherwise: Process
    position: Position | None = _position()


@attrs.frozen
class Call:
    """An equation, by name."""

    name: str
    arguments: tuple[Expression, ...]
    position: Position | None = _position()


Process = Use | Delay | Sequence | Parallel | Loop | If | Call
Node = Expression | Process


@attrs.frozen
class Range:
    """From first to last, both included."""

    first: Expression
    last: Expression


@attrs.frozen
class Listing:
    """The values of an array."""

    items: tuple[Any, ...]
    position: Position | None = _position()


@attrs.frozen
class Parameter:
    """A number, or an array of numbers, that the user may set."""

    name: str
    dims: tuple[Range, ...]
    type: str
    low: Expression | None
    high: Expression | None
    default: Expression | Listing | None
    position: Position | None = _position()


@attrs.frozen
class Let:
    """A named expression."""

    name: str
    formals: tuple[str, ...]
    body: Expression
    position: Position | None = _position()


@attrs.frozen
class Resource:
    """Servers with one queue, or an array of such; ``labels`` name indices in ``servers``."""

    name: str
    dims: tuple[Range, ...]
    labels: tuple[str | None, ...]
    servers: Expression | None  #: None is one, `INFINITE` without limit
    position: Position | None = _position()


#: The multiplicity of a resource that nobody waits for.
INFINITE = Name("inf")


@attrs.frozen
class Assume:
    """A condition that must hold."""

    condition: Expression
    position: Position | None = _position()


@attrs.frozen
class Extern:
    """An equation that a machine must supply."""

    name: str
    formals: tuple[str, ...]
    position: Position | None = _position()


@attrs.frozen
class Equation:
    """A named process."""

    name: str
    formals: tuple[str, ...]
    body: Process
    position: Position | None = _position()


@attrs.frozen
class Import:
    """Another file's declarations, under a prefix if ``prefix`` is given."""

    path: str
    prefix: str | None
    position: Position | None = _position()


@attrs.frozen
class Root:
    """Which equation is the whole."""

    name: str
    position: Position | None = _position()


Declaration = Parameter | Let | Resource | Assume | Extern | Equation | Import | Root


def children(node: Any) -> Iterator[Node]:
    """Yield the nodes directly below one."""
    for field in attrs.fields(type(node)):
        if field.name == "position":
            continue
        value = getattr(node, field.name)
        if isinstance(value, tuple):
            yield from (item for item in value if attrs.has(type(item)))
        elif attrs.has(type(value)):
            yield value


def walk(node: Any) -> Iterator[Node]:
    """Yield a node and all below it, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(children(current))


def depth(node: Any) -> int:
    """Return how deeply nodes are nested, without recursion."""
    deepest, stack = 0, [(node, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(current))
    return deepest
