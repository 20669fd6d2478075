"""The walk through a program: declarations, loops, conditions and assignments, in order."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NoReturn

import attrs

from parcast.quantities import Call, Expr, Name
from parcast_pamela_compiler.accesses import accesses
from parcast_pamela_compiler.arrays import Owner
from parcast_pamela_compiler.assignments import assignment_process, call_process
from parcast_pamela_compiler.processes import Header, Parts, Process, chosen, looped
from parcast_pamela_compiler.ranges import counted_loop, range_of
from parcast_pamela_compiler.scope import Scope
from parcast_pamela_compiler.slices import element_loops, is_reduction, is_sliced
from parcast_pamela_compiler.statements import (
    EVERYONE,
    by_all_or_owner,
    everyone,
    fetched,
    operations,
)

_KNOWN = "remove this: array, forall, block, cyclic, whole and replicated are known"
_FIXES = {
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


def body_process(statements: Sequence[ast.stmt], scope: Scope) -> Parts:
    """Return the process of statements, one after the other.

    Outside of parallel loops each is whole by itself; inside, what one fetches is fetched before
    the loop.
    """
    total = Parts()
    for statement in statements:
        parts = statement_process(statement, scope)
        total += parts if scope.parallel else Parts(work=parts.whole)
    return total


def statement_process(node: ast.stmt, scope: Scope) -> Parts:
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
                return _for(element_loops(node, scope), scope)
            return assignment_process(node, scope)
        case ast.Expr(value=ast.Call()):
            return call_process(node, scope)
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return Parts()
        case _:
            return _refuse(node, scope)


def _is_of_elements(node: ast.Assign | ast.AugAssign) -> bool:
    """Return whether a statement assigns the elements of a slice one by one."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return is_sliced(target) and not is_reduction(node.value)


def _refuse(node: ast.stmt, scope: Scope) -> NoReturn:
    text = ast.unparse(node).splitlines()[0]
    mend = _FIXES.get(type(node), "write loops, conditions and assignments")
    if isinstance(node, ast.Assign):
        several = len(node.targets) > 1 or isinstance(node.targets[0], ast.Tuple | ast.List)
        mend = "write one assignment for each" if several else "assign a name, or an element"
    scope.source.fail(node, f"'{text}' is not understood; {mend}")


def _for(node: ast.For, scope: Scope) -> Parts:
    if node.orelse:
        scope.source.fail(node, "'else' of a loop is not understood; write it after the loop")
    if not isinstance(node.target, ast.Name):
        scope.source.fail(node, f"{ast.unparse(node.target)!r} is no loop variable; write one name")
    name = node.target.id
    around = {loop.variable for loop in scope.loops}
    if name in around or name in scope.arrays or name in scope.source.parameters or name == "P":
        scope.source.fail(node, f"{name!r} has a meaning here already; name the variable otherwise")
    header = counted_loop(node, scope)
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
            inner.private = frozenset(_overwritten_names(node.body))
    return _looped(header, inner, node.body, scope)


def _while(node: ast.While, scope: Scope) -> Parts:
    header = counted_loop(node, scope)
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
    inner.names.update(dict.fromkeys(_assigned_names(statements), None))
    return inner


def _looped(
    header: Header, inner: Scope, statements: Sequence[ast.stmt], scope: Scope, test: Process = ()
) -> Parts:
    parts = body_process(statements, inner)
    scope.names.update(dict.fromkeys(_assigned_names(statements), None))
    work = looped(header, test + parts.work)
    fetch = tuple(node for move in parts.fetch for node in looped(header, (move,)))
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
    arms = []
    for statements in (node.body, node.orelse):
        arm_scope = attrs.evolve(scope, names=dict(scope.names))
        arms.append(body_process(statements, arm_scope))
    scope.names.update(dict.fromkeys(_assigned_names([node]), None))
    return arms[0], arms[1]


def _tested(test: ast.expr, node: ast.stmt, scope: Scope) -> Process:
    """Return what it takes to know a condition of data, for all that depend on it."""
    needs = accesses(test, scope)
    if not scope.parallel:
        return by_all_or_owner(needs, None, node.lineno)
    home = scope.home or next(iter(needs.owners), None)
    if home is None:
        return everyone(operations(needs.operations, None, Name(EVERYONE), node.lineno))
    work = operations(needs.operations, None, home.expr, node.lineno)
    return fetched(needs.owners, home, node.lineno) + work


def _probability(node: ast.If, scope: Scope) -> Expr:
    stated = {name: scope.source.stated(node, name) for name in ("probability", "taken", "reached")}
    chance, taken_count, reached_count = stated.values()
    if chance is None and taken_count is not None and reached_count is not None:
        chance = Call("/", (taken_count, reached_count))
    elif (chance is None) or taken_count is not None or reached_count is not None:
        scope.source.fail(
            node,
            f"only the data tell whether {ast.unparse(node.test)!r}; say how often it holds: "
            "'# pamela: probability = 0.3', or counts of a profile: "
            "'# pamela: taken = 37, reached = 100'",
        )
    return chance


def _assigned_names(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the scalars that statements assign."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _overwritten_names(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the scalars that an iteration assigns, and does not only add to."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _home(statements: Sequence[ast.stmt], scope: Scope) -> Owner | None:
    """Return whose processor an iteration is: of what it assigns first, or reads first."""
    elements = [
        node
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in scope.arrays
    ]
    for context in (ast.Store, ast.Load):
        for node in elements:
            if isinstance(node.ctx, context) and (owner := _known_owner(node, scope)):
                return owner
    return None


def _known_owner(node: ast.Subscript, scope: Scope) -> Owner | None:
    array, indices = scope.subscripted(node)
    if array.axis is None or isinstance(indices[array.axis], ast.Slice):
        return None
    index = indices[array.axis]
    names = {part.id for part in ast.walk(index) if isinstance(part, ast.Name)}
    if not names <= scope.names.keys():
        return None
    return scope.reference(node).owner
