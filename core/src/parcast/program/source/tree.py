"""The tree of a program: what its source says, with every line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from parcast.quantities.expressions import Expr, Num, Value

#: An argument of an operation: an expression, or what is written out in the source: a file's
#: or a region's name, the variable of a request, a flag, or None where there is no color.
Argument = Expr | str | bool | None


@attrs.frozen
class Assign:
    """``variable = value``."""

    variable: str
    value: Expr
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


@attrs.frozen
class For:
    """``for variable in range(start, stop, step): body``."""

    variable: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Pool:
    """``for variable in pool(range(start, stop, step), bytes=, result=, master=): body``.

    Each task goes to the process that asks first; the body is what a task takes on any of them.
    """

    variable: str
    start: Expr
    stop: Expr
    step: Expr
    bytes: Expr
    body: tuple[Statement, ...]
    site: int = 0
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)
    result: Expr = Num(0)  #: bytes that a master is sent of each task
    master: Expr | None = None  #: who attends to it

    name = "pool"  #: of its site


@attrs.frozen
class If:
    """``if test: then`` and ``else: otherwise``."""

    test: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Op:
    """An operation of `OPERATIONS` with all of its arguments, defaults included.

    ``site`` counts the operations of a program in the order of its text, so that it names
    the same operation for every family, size and run.
    """

    name: str
    arguments: Mapping[str, Argument] = attrs.field(hash=False)
    handle: str | None = None  #: the variable that takes the request
    site: int = 0
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


def is_offloaded(arguments: Mapping[str, object]) -> bool:
    """Return whether these are the arguments of a computation on an accelerator."""
    return arguments.get("on") == "gpu"


Statement = Assign | For | Pool | If | Op


def nested(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, in the order of the text."""
    for statement in body:
        yield statement
        match statement:
            case For(body=inner) | Pool(body=inner):
                yield from nested(inner)
            case If(then=then, otherwise=otherwise):
                yield from nested(then)
                yield from nested(otherwise)


@attrs.frozen
class Site:
    """Where an operation stands in the source, or what stands for it in a recorded run."""

    name: str
    line: int | None = None
    col: int | None = None


@attrs.frozen(kw_only=True, eq=False)
class Tree:
    """What a program's source says."""

    name: str
    where: str = ""  #: the file, as errors name it
    description: str = ""  #: the docstring
    parameters: Mapping[str, Value] = attrs.field(factory=dict)
    body: tuple[Statement, ...] = attrs.field(repr=False)
    sites: tuple[Site, ...] = attrs.field(repr=False)  #: of operations and pools, by ``site``
    source: str = attrs.field(default="", repr=False)  #: the text that was read
