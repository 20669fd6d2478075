"""The tree of a program: what its source says, with every line and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from parcast.errors import InvalidPointError
from parcast.expressions import Expr, Value

if TYPE_CHECKING:
    from parcast.program.attributes import Attributes
    from parcast.program.unrolled import Unrolled
    from parcast.query import Query

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


Statement = Assign | For | If | Op


def nested(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Yield every statement of a body, in the order of the text."""
    for statement in body:
        yield statement
        match statement:
            case For(body=inner):
                yield from nested(inner)
            case If(then=then, otherwise=otherwise):
                yield from nested(then)
                yield from nested(otherwise)


def operations(body: tuple[Statement, ...]) -> Iterator[Op]:
    """Yield every operation of a body, in the order of the text."""
    return (statement for statement in nested(body) if isinstance(statement, Op))


@attrs.frozen
class Site:
    """Where an operation stands in the source, or what stands for it in a recorded run."""

    name: str
    line: int | None = None
    col: int | None = None


@attrs.frozen(kw_only=True, eq=False)
class Program:
    """The content of a ``program`` workload.

    A program read from source has a tree in ``body``. A recorded one has only ``recorded``,
    its operations at its own number of processes.
    """

    name: str
    where: str = ""  #: the file, as errors name it
    description: str = ""  #: the docstring
    parameters: Mapping[str, Value] = attrs.field(factory=dict)
    body: tuple[Statement, ...] | None = attrs.field(default=None, repr=False)
    source: str = attrs.field(default="", repr=False)  #: the text that was read
    recorded: Unrolled | None = attrs.field(default=None, repr=False)

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        """Every operation of the text, by its ``site``."""
        if self.body is None:
            return self.recorded.sites if self.recorded else ()
        return tuple(Site(op.name, op.line, op.col) for op in operations(self.body))

    @cached_property
    def attributes(self) -> Attributes:
        """What its expressions depend on, where control is uniform, what its loops carry."""
        from parcast.program.attributes import attributes

        return attributes(self)

    def at(self, query: Query) -> Unrolled:
        """Return the operations of all processes at the query's p and parameters.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; the line and the rank are named.
        """
        if self.body is None:
            return self._as_recorded(query.p)
        from parcast.program.unroll import unroll

        names = {name: query.values[name] for name in self.parameters}
        return unroll(self, query.p, names)

    def check(self, query: Query) -> None:
        """Check that every message at the query's point is matched and nobody waits for ever.

        Raises
        ------
        InvalidPointError
            If the program has no meaning there; ranks and lines are named.
        """
        from parcast.program.ready import matched

        matched(query)

    def _as_recorded(self, p: int) -> Unrolled:
        if self.recorded is None:
            raise InvalidPointError(f"program {self.name!r} has no operations")
        if p != self.recorded.size:
            raise InvalidPointError(
                f"{self.where or self.name}: recorded with {self.recorded.size} processes, so it "
                f"cannot be asked at p={p}; give -p {self.recorded.size}"
            )
        return self.recorded
