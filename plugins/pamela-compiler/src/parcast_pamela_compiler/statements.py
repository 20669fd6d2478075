"""Assignments and calls as processes: the owner of what is assigned computes it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import attrs

from parcast.quantities import Expr, Name, names_in
from parcast_pamela_compiler.accesses import Accesses
from parcast_pamela_compiler.affine import ONE, ZERO, minus
from parcast_pamela_compiler.arrays import Owner, P, Reference, elsewhere
from parcast_pamela_compiler.processes import Charge, Header, Parts, Process, chosen, free, looped
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


def assigned(one: Assignment, scope: Scope) -> Parts:
    """Return the process of an assignment.

    Raises
    ------
    FileError
        If nothing tells which processor does it.
    """
    if one.adds and (parts := _reduced(one, scope)) is not None:
        return parts
    if isinstance(one.target, str):
        return _scalar(one, scope)
    owner = _owner(one, one.target, scope)
    if owner is None:
        return _replicated(one, one.target, scope)
    if not one.value.operations and one.count is None and one.value.owners and not one.adds:
        return _copied(one, owner, scope)
    work = one.computed(owner.expr) + stored(one, one.target, owner.expr, scope)
    return Parts(fetched(one.value.owners, owner, one.line), work)


def fetched(owners: Sequence[Owner], to: Owner, line: int) -> Process:
    """Return the moves of elements to a processor, from those of others."""
    moves: Process = ()
    for one in owners:
        moves += _moved(one, to, line)
    return moves


def stored(one: Assignment, target: Reference, processor: Expr, scope: Scope) -> Process:
    """Return the store of an element by a processor that has it."""
    if not one.stores:
        return ()
    distance = scope.comment(one.statement, "stride")
    if distance is None:
        distance = target.stride(scope.loops[-1] if scope.loops else None)
    if distance is None:
        scope.source.fail(
            one.statement,
            f"only the data tell how far apart the elements of {target.array.name} are that are "
            "stored; say it: '# pamela: stride = ...'",
        )
    return (Charge("lmove", (processor, distance), one.line),)


def everyone(body: Process) -> Process:
    """Return what all processors do alike."""
    return looped(Header("par", EVERYONE, ZERO, minus(P, ONE)), body)


def by_all_or_owner(one: Accesses, count: Expr | None, line: int) -> Process:
    """Return the computing of a number that all processors need."""
    if not one.owners:
        return everyone(operations(one.operations, count, Name(EVERYONE), line))
    first = one.owners[0]
    return (
        *fetched(one.owners[1:], first, line),
        *operations(one.operations, count, first.expr, line),
        Charge("bcast", (first.expr,), line),
    )


def _owner(one: Assignment, target: Reference, scope: Scope) -> Owner | None:
    """Return the owner of what is assigned, None if it is everybody's."""
    stated = scope.comment(one.statement, "owner")
    if stated is not None:
        return Owner(None, stated)
    if target.array.axis is not None and target.owner is None:
        scope.source.fail(
            one.statement,
            f"only the data tell whose element of {target.array.name} is assigned; say it: "
            "'# pamela: owner = ...', a number of a processor",
        )
    return target.owner


def _moved(owner: Owner, to: Owner, line: int, otherwise: Process = ()) -> Process:
    differ = elsewhere(owner, to)
    if differ is False:
        return otherwise
    move = Charge("gmove", (owner.expr, to.expr), line)
    assert not isinstance(differ, bool)
    return chosen(differ, (move,), otherwise)


def _copied(one: Assignment, owner: Owner, scope: Scope) -> Parts:
    """Return a copy of one element: a global move stores it already (section 4.1)."""
    assert isinstance(one.target, Reference)
    here = stored(one, one.target, owner.expr, scope)
    return Parts(work=_moved(one.value.owners[0], owner, one.line, here))


def _replicated(one: Assignment, target: Reference, scope: Scope) -> Parts:
    owners = one.value.owners
    if owners:
        return Parts(
            fetched(owners[1:], owners[0], one.line),
            (*one.computed(owners[0].expr), Charge("bcast", (owners[0].expr,), one.line)),
        )
    each = Name(EVERYONE)
    return Parts(work=everyone(one.computed(each) + stored(one, target, each, scope)))


def _scalar(one: Assignment, scope: Scope) -> Parts:
    if not scope.parallel:
        return Parts(work=by_all_or_owner(one.value, one.count, one.line))
    home = scope.home or next(iter(one.value.owners), None)
    if home is None:
        return Parts(work=everyone(one.computed(Name(EVERYONE))))
    return Parts(fetched(one.value.owners, home, one.line), one.computed(home.expr))


def _reduced(one: Assignment, scope: Scope) -> Parts | None:
    """Return the parts of a sum over parallel iterations, None if the owner adds by itself."""
    target, own = one.target, frozenset[str]()
    if isinstance(target, str):
        if not scope.parallel or target in scope.private:
            return None
    elif None in target.subscripts:
        return None
    else:
        own = frozenset().union(*(names_in(each) for each in target.subscripts if each is not None))
    over = [h for h in scope.loops if h.kind == "par" and h.variable not in own]
    if not over:
        return None
    owner = None if isinstance(target, str) else _owner(one, target, scope)
    home = next(iter(one.value.owners), scope.home)
    if home is None or (owner is not None and elsewhere(home, owner) is False):
        return None
    if home.array is not None and not names_in(home.index) & {h.variable for h in over}:
        return None  # one processor has all of it
    to = ZERO if owner is None else owner.expr
    joined: Process = (Charge("reduce", (to,), one.line),)
    if owner is None:
        joined += (Charge("bcast", (to,), one.line),)
    _refuse_ranges(one, joined, own, over, scope)
    return Parts(
        fetched(one.value.owners, home, one.line),
        one.computed(home.expr),
        _kept(joined, own, scope.loops),
    )


def _refuse_ranges(
    one: Assignment, joined: Process, own: frozenset[str], over: Sequence[Header], scope: Scope
) -> None:
    """Refuse a sum whose elements depend on the iteration that adds to them."""
    summed = {header.variable for header in over}
    for header in scope.loops:
        if header.variable in own | free(joined) and header.bounds & summed:
            names = ", ".join(sorted(header.bounds & summed))
            scope.source.fail(
                one.statement,
                f"the elements added to differ with {names}, over which the sum goes; give the "
                f"loop over {header.variable!r} bounds of its own",
            )


def _kept(joined: Process, own: frozenset[str], loops: Sequence[Header]) -> Process:
    """Return the joining for each element: within the loops that the elements go by."""
    start = next(i for i, header in enumerate(loops) if header.kind == "par")
    for header in reversed(loops[start:]):
        if header.variable in own:
            joined = looped(header, joined)
    return joined
