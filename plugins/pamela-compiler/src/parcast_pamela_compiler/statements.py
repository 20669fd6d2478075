"""Assignments and calls as processes: the owner of what is assigned computes it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import attrs

from parcast.quantities import Expr, Name, names_in
from parcast_pamela_compiler.accesses import Accesses
from parcast_pamela_compiler.affine import ONE, ZERO, minus
from parcast_pamela_compiler.arrays import Owner, P, Reference, owners_differ
from parcast_pamela_compiler.processes import (
    Charge,
    Header,
    Parts,
    Process,
    chosen,
    free_names,
    looped,
)
from parcast_pamela_compiler.scope import Scope

#: The index of a processor where all do the same; no name of Python's
EVERYONE = "$each"


@attrs.frozen
class Assignment:
    """What is assigned, and what it takes."""

    statement: ast.stmt
    target: Reference | str  #: an element, or a scalar
    value: Accesses
    adds: bool  #: whether it is an augmented assignment, such as ``+=``
    stores: bool = True  #: False for a sum that is kept in a register
    count: Expr | None = None  #: operations, from a comment

    @property
    def line(self) -> int:
        """The line of the text."""
        return self.statement.lineno

    def computed(self, processor: Expr) -> Process:
        """Return the operations, by one processor."""
        return operations(self.value.operations, self.count, processor, self.line)


def operations(number: int, count: Expr | None, processor: Expr, line: int) -> Process:
    """Return so many operations of a processor, as counted or as a comment states."""
    if count is None:
        return (Charge("op", (processor,), line, number),) if number else ()
    return (Charge("op", (processor,), line, count),)


def assigned(assignment: Assignment, scope: Scope) -> Parts:
    """Return the process of an assignment.

    Raises
    ------
    FileError
        If nothing tells which processor does it.
    """
    if assignment.adds and (parts := _reduced(assignment, scope)) is not None:
        return parts
    if isinstance(assignment.target, str):
        return _scalar(assignment, scope)
    owner = _owner(assignment, assignment.target, scope)
    if owner is None:
        return _replicated(assignment, assignment.target, scope)
    if (
        not assignment.value.operations
        and assignment.count is None
        and assignment.value.owners
        and not assignment.adds
    ):
        return _copied(assignment, owner, scope)
    work = assignment.computed(owner.expr) + stored(
        assignment, assignment.target, owner.expr, scope
    )
    return Parts(fetched(assignment.value.owners, owner, assignment.line), work)


def fetched(owners: Sequence[Owner], to: Owner, line: int) -> Process:
    """Return the moves of elements to a processor, from those of others."""
    moves: Process = ()
    for owner in owners:
        moves += _moved(owner, to, line)
    return moves


def stored(assignment: Assignment, target: Reference, processor: Expr, scope: Scope) -> Process:
    """Return the store of an element by a processor that has it."""
    if not assignment.stores:
        return ()
    distance = scope.comment(assignment.statement, "stride")
    if distance is None:
        distance = target.stride(scope.loops[-1] if scope.loops else None)
    if distance is None:
        scope.source.fail(
            assignment.statement,
            f"only the data tell how far apart the elements of {target.array.name} are that are "
            "stored; say it: '# pamela: stride = ...'",
        )
    return (Charge("lmove", (processor, distance), assignment.line),)


def everyone(body: Process) -> Process:
    """Return what all processors do alike."""
    return looped(Header("par", EVERYONE, ZERO, minus(P, ONE)), body)


def by_all_or_owner(needs: Accesses, count: Expr | None, line: int) -> Process:
    """Return the computing of a number that all processors need."""
    if not needs.owners:
        return everyone(operations(needs.operations, count, Name(EVERYONE), line))
    first = needs.owners[0]
    return (
        *fetched(needs.owners[1:], first, line),
        *operations(needs.operations, count, first.expr, line),
        Charge("bcast", (first.expr,), line),
    )


def _owner(assignment: Assignment, target: Reference, scope: Scope) -> Owner | None:
    """Return the owner of what is assigned, None if it is everybody's."""
    stated = scope.comment(assignment.statement, "owner")
    if stated is not None:
        return Owner(None, stated)
    if target.array.axis is not None and target.owner is None:
        scope.source.fail(
            assignment.statement,
            f"only the data tell whose element of {target.array.name} is assigned; say it: "
            "'# pamela: owner = ...', a number of a processor",
        )
    return target.owner


def _moved(owner: Owner, to: Owner, line: int, otherwise: Process = ()) -> Process:
    differ = owners_differ(owner, to)
    if differ is False:
        return otherwise
    move = Charge("gmove", (owner.expr, to.expr), line)
    assert not isinstance(differ, bool)
    return chosen(differ, (move,), otherwise)


def _copied(assignment: Assignment, owner: Owner, scope: Scope) -> Parts:
    """Return a copy of one element: a global move stores it already (section 4.1)."""
    assert isinstance(assignment.target, Reference)
    store = stored(assignment, assignment.target, owner.expr, scope)
    return Parts(work=_moved(assignment.value.owners[0], owner, assignment.line, store))


def _replicated(assignment: Assignment, target: Reference, scope: Scope) -> Parts:
    owners = assignment.value.owners
    if owners:
        return Parts(
            fetched(owners[1:], owners[0], assignment.line),
            (
                *assignment.computed(owners[0].expr),
                Charge("bcast", (owners[0].expr,), assignment.line),
            ),
        )
    processor = Name(EVERYONE)
    return Parts(
        work=everyone(assignment.computed(processor) + stored(assignment, target, processor, scope))
    )


def _scalar(assignment: Assignment, scope: Scope) -> Parts:
    if not scope.parallel:
        return Parts(work=by_all_or_owner(assignment.value, assignment.count, assignment.line))
    home = scope.home or next(iter(assignment.value.owners), None)
    if home is None:
        return Parts(work=everyone(assignment.computed(Name(EVERYONE))))
    return Parts(
        fetched(assignment.value.owners, home, assignment.line), assignment.computed(home.expr)
    )


def _reduced(assignment: Assignment, scope: Scope) -> Parts | None:
    """Return the parts of a sum over parallel iterations, None if the owner adds by itself."""
    target, variables = assignment.target, frozenset[str]()
    if isinstance(target, str):
        if not scope.parallel or target in scope.private:
            return None
    elif None in target.subscripts:
        return None
    else:
        variables = frozenset().union(
            *(names_in(subscript) for subscript in target.subscripts if subscript is not None)
        )
    over = [h for h in scope.loops if h.kind == "par" and h.variable not in variables]
    if not over:
        return None
    owner = None if isinstance(target, str) else _owner(assignment, target, scope)
    home = next(iter(assignment.value.owners), scope.home)
    if home is None or (owner is not None and owners_differ(home, owner) is False):
        return None
    if home.array is not None and not names_in(home.index) & {h.variable for h in over}:
        return None  # one processor has all of it
    to = ZERO if owner is None else owner.expr
    joined: Process = (Charge("reduce", (to,), assignment.line),)
    if owner is None:
        joined += (Charge("bcast", (to,), assignment.line),)
    _refuse_ranges(assignment, joined, variables, over, scope)
    return Parts(
        fetched(assignment.value.owners, home, assignment.line),
        assignment.computed(home.expr),
        _within_loops(joined, variables, scope.loops),
    )


def _refuse_ranges(
    assignment: Assignment,
    joined: Process,
    variables: frozenset[str],
    over: Sequence[Header],
    scope: Scope,
) -> None:
    """Refuse a sum whose elements depend on the iteration that adds to them."""
    summed = {header.variable for header in over}
    for header in scope.loops:
        if header.variable in variables | free_names(joined) and header.bounds & summed:
            names = ", ".join(sorted(header.bounds & summed))
            scope.source.fail(
                assignment.statement,
                f"the elements added to differ with {names}, over which the sum goes; give the "
                f"loop over {header.variable!r} bounds of its own",
            )


def _within_loops(joined: Process, variables: frozenset[str], loops: Sequence[Header]) -> Process:
    """Return the joining for each element: within the loops that the elements go by."""
    start = next(i for i, header in enumerate(loops) if header.kind == "par")
    for header in reversed(loops[start:]):
        if header.variable in variables:
            joined = looped(header, joined)
    return joined
