"""The walk through a program: declarations, loops, conditions and assignments, in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NoReturn

import attrs

from parcast.quantities import Call, Expr, Name
from parcast_pamela_compiler.accesses import accesses
from parcast_pamela_compiler.arrays import Owner
from parcast_pamela_compiler.assignments import assignment, call
from parcast_pamela_compiler.processes import Header, Parts, Process, chosen, looped
from parcast_pamela_compiler.ranges import counted, range_of
from parcast_pamela_compiler.scope import Scope
from parcast_pamela_compiler.slices import is_reduction, is_sliced, unsliced
from parcast_pamela_compiler.statements import (
    EVERYONE,
    by_all_or_owner,
    everyone,
    fetched,
    operations,
)

_KNOWN = "remove this: array, forall, block, cyclic, whole and replicated are known"
_MEND = {
    ast.FunctionDef: "write its statements here",
    ast.Return: "remove this: the arrays are the results",
    ast.Import: _KNOWN,
    ast.ImportFrom: _KNOWN,
    ast.Break: "say how often the loop runs: 'while ...:  # pamela: times = ...'",
    ast.Continue: "write an 'if' round the rest of the loop",
    ast.With: "write its statements alone",
    ast.Try: "write its statements alone",
    ast.AnnAssign: "write 'name = value'",
    ast.Delete: "remove this",
    ast.Match: "write 'if' and 'elif'",
    ast.Expr: "assign it, or remove this",
    ast.Assert: "assertions of parameters stand first, outside of loops",
}


def body(statements: Sequence[ast.stmt], scope: Scope) -> Parts:
    """Return the process of statements, one after the other.

    Outside of parallel loops each is whole by itself; inside, what one fetches is fetched before
    the loop.
    """
    total = Parts()
    for one in statements:
        parts = statement(one, scope)
        total += parts if scope.parallel else Parts(work=parts.whole)
    return total


def statement(node: ast.stmt, scope: Scope) -> Parts:
    """Return the process of one statement, and take note of what it assigns.

    Raises
    ------
    FileError
        If it is not understood; the line, and what to write instead, are named.
    """
    match node:
        case ast.For():
            return _for(node, scope)
        case ast.While():
            return _while(node, scope)
        case ast.If():
            return _if(node, scope)
        case ast.Assign(targets=[ast.Name() | ast.Subscript()]) | ast.AugAssign():
            if _is_of_elements(node):
                if scope.source.stated(node, "operations") is not None:
                    scope.source.fail(node, "the comment counts operations of a slice; say it "
                                            "of a call, or of one element")  # fmt: skip
                return _for(unsliced(node, scope), scope)
            return assignment(node, scope)
        case ast.Expr(value=ast.Call()):
            return call(node, scope)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return Parts()
        case _:
            return _refuse(node, scope)


def _is_of_elements(node: ast.Assign | ast.AugAssign) -> bool:
    """Return whether a statement assigns the elements of a slice one by one."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return is_sliced(target) and not is_reduction(node.value)


def _refuse(node: ast.stmt, scope: Scope) -> NoReturn:
    shown = ast.unparse(node).splitlines()[0]
    mend = _MEND.get(type(node), "write loops, conditions and assignments")
    if isinstance(node, ast.Assign):
        several = len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple | ast.List)
        mend = "write one assignment for each" if several else "assign a name, or an element"
    scope.source.fail(node, f"'{shown}' is not understood; {mend}")


def _for(node: ast.For, scope: Scope) -> Parts:
    if node.orelse:
        scope.source.fail(node, "'else' of a loop is not understood; write it after the loop")
    if not isinstance(node.target, ast.Name):
        scope.source.fail(node, f"{ast.unparse(node.target)!r} is no loop variable; write one name")
    name = node.target.id
    around = {one.variable for one in scope.loops}
    if name in around or name in scope.arrays or name in scope.source.parameters or name == "P":
        scope.source.fail(node, f"{name!r} has a meaning here already; name the variable otherwise")
    header = counted(node, scope)
    if header is not None:
        inner = _within(node.body, scope, header)
        inner.names[name] = None
        return _looped(header, inner, node.body, scope)
    header = range_of(node, name, scope)
    inner = _within(node.body, scope, header)
    inner.names[name] = Name(name)
    if header.kind == "par":
        inner.home = _home(node.body, inner) or inner.home
        if not scope.parallel:
            inner.private = frozenset(_set_plainly(node.body))
    return _looped(header, inner, node.body, scope)


def _while(node: ast.While, scope: Scope) -> Parts:
    header = counted(node, scope)
    if header is None or node.orelse:
        scope.source.fail(
            node,
            f"nothing says how often 'while {ast.unparse(node.test)}' runs; write 'for ... in "
            "range(...)', or say it: '# pamela: times = ...'",
        )
    inner = _within(node.body, scope, header)
    test = _tested(node.test, node, inner)
    return _looped(header, inner, node.body, scope, test)


def _within(statements: Sequence[ast.stmt], scope: Scope, header: Header) -> Scope:
    """Return the place in a loop; what an iteration leaves to the next only the data tell."""
    inner = scope.inside(header)
    inner.names.update(dict.fromkeys(_set(statements), None))
    return inner


def _looped(
    header: Header,
    inner: Scope,
    statements: Sequence[ast.stmt],
    scope: Scope,
    test: Process = (),
) -> Parts:
    parts = body(statements, inner)
    scope.names.update(dict.fromkeys(_set(statements), None))
    work = looped(header, test + parts.work)
    fetch = tuple(node for one in parts.fetch for node in looped(header, (one,)))
    if scope.parallel:
        return Parts(fetch, work, parts.after)
    return Parts(work=fetch + work + parts.after)


def _if(node: ast.If, scope: Scope) -> Parts:
    condition = scope.known(node.test)
    then, otherwise = _arms(node, scope)
    if condition is not None:
        return Parts(
            chosen(condition, then.fetch, otherwise.fetch),
            chosen(condition, then.work, otherwise.work),
            then.after + otherwise.after,
        )
    test = _tested(node.test, node, scope)
    probability = _probability(node, scope)
    work = chosen(
        probability, then.fetch + then.work, otherwise.fetch + otherwise.work, random=True
    )
    return Parts(work=test + work, after=then.after + otherwise.after)


def _arms(node: ast.If, scope: Scope) -> tuple[Parts, Parts]:
    found = []
    for statements in (node.body, node.orelse):
        own = attrs.evolve(scope, names=dict(scope.names))
        found.append(body(statements, own))
    scope.names.update(dict.fromkeys(_set([node]), None))
    return found[0], found[1]


def _tested(test: ast.expr, node: ast.stmt, scope: Scope) -> Process:
    """Return what it takes to know a condition of data, for all that depend on it."""
    taken = accesses(test, scope)
    if not scope.parallel:
        return by_all_or_owner(taken, None, node.lineno)
    home = scope.home or next(iter(taken.owners), None)
    if home is None:
        return everyone(operations(taken.operations, None, Name(EVERYONE), node.lineno))
    own = operations(taken.operations, None, home.expr, node.lineno)
    return fetched(taken.owners, home, node.lineno) + own


def _probability(node: ast.If, scope: Scope) -> Expr:
    stated = {name: scope.source.stated(node, name) for name in ("probability", "taken", "reached")}
    chance, taken, reached = stated.values()
    if chance is None and taken is not None and reached is not None:
        chance = Call("/", (taken, reached))
    elif (chance is None) or taken is not None or reached is not None:
        scope.source.fail(
            node,
            f"only the data tell whether {ast.unparse(node.test)!r}; say how often it holds: "
            "'# pamela: probability = 0.3', or counts of a profile: "
            "'# pamela: taken = 37, reached = 100'",
        )
    return chance


def _set(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the scalars that statements assign."""
    for one in statements:
        for node in ast.walk(one):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _set_plainly(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the scalars that an iteration assigns, and does not only add to."""
    for one in statements:
        for node in ast.walk(one):
            if isinstance(node, ast.Assign):
                yield from (each.id for each in node.targets if isinstance(each, ast.Name))


def _home(statements: Sequence[ast.stmt], scope: Scope) -> Owner | None:
    """Return whose processor an iteration is: of what it assigns first, or reads first."""
    elements = [
        node
        for one in statements
        for node in ast.walk(one)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in scope.arrays
    ]
    for context in (ast.Store, ast.Load):
        for node in elements:
            if isinstance(node.ctx, context) and (found := _known_owner(node, scope)):
                return found
    return None


def _known_owner(node: ast.Subscript, scope: Scope) -> Owner | None:
    array, indices = scope.subscripted(node)
    if array.axis is None or isinstance(indices[array.axis], ast.Slice):
        return None
    index = indices[array.axis]
    names = {one.id for one in ast.walk(index) if isinstance(one, ast.Name)}
    if not names <= scope.names.keys():
        return None
    return scope.reference(node).owner
