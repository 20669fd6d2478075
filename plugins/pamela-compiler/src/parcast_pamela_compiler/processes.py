"""What a program asks of a machine: charges, loops and choices, in the order of its text."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from parcast.quantities import Expr, names_in


@attrs.frozen
class Charge:
    """An equation of the machine, called ``count`` times."""

    name: str  #: ``op``, ``lmove``, ``gmove``, ``bcast`` or ``reduce``
    arguments: tuple[Expr, ...]
    line: int
    count: int | Expr = 1


@attrs.frozen
class Header:
    """A loop's range: ``seq`` or ``par``, both ends belonging to it."""

    kind: str
    variable: str
    first: Expr
    last: Expr
    by: int = 1

    @property
    def bounds(self) -> frozenset[str]:
        """The names that its ends depend on."""
        return names_in(self.first) | names_in(self.last)


@attrs.frozen
class Loop:
    """A process for each index."""

    header: Header
    body: Process


@attrs.frozen
class Choice:
    """A condition on indices and parameters, or one that is true with a probability."""

    condition: Expr
    then: Process
    otherwise: Process = ()
    random: bool = False


Node = Charge | Loop | Choice
Process = tuple[Node, ...]


def looped(header: Header, body: Process) -> Process:
    """Return a loop, nothing for nothing."""
    return (Loop(header, body),) if body else ()


def chosen(
    condition: Expr, then: Process, otherwise: Process = (), *, random: bool = False
) -> Process:
    """Return a choice, nothing for nothing."""
    return (Choice(condition, then, otherwise, random),) if then or otherwise else ()


def free_names(process: Process) -> frozenset[str]:
    """Return the names that a process depends on."""
    return frozenset(_free(process))


def _free(process: Process) -> Iterator[str]:
    for node in process:
        match node:
            case Charge():
                for argument in node.arguments:
                    yield from names_in(argument)
                if not isinstance(node.count, int):
                    yield from names_in(node.count)
            case Loop():
                yield from node.header.bounds
                yield from free_names(node.body) - {node.header.variable}
            case Choice():
                yield from (
                    names_in(node.condition) | free_names(node.then) | free_names(node.otherwise)
                )


@attrs.frozen
class Parts:
    """A statement's process in three parts.

    What a parallel loop reads of other processors is fetched before it, and what its processors
    have each reduced is put together after it.
    """

    fetch: Process = ()
    work: Process = ()
    after: Process = ()

    def __add__(self, other: Parts) -> Parts:
        return Parts(self.fetch + other.fetch, self.work + other.work, self.after + other.after)

    @property
    def whole(self) -> Process:
        """The parts one after the other."""
        return self.fetch + self.work + self.after
