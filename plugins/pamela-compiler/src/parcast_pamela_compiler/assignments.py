"""Assignments of scalars, elements, and what slices are reduced to; calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import attrs

from parcast.quantities import BINARY, Call, Name
from parcast_pamela_compiler.accesses import accesses
from parcast_pamela_compiler.arrays import Reference
from parcast_pamela_compiler.processes import Header, Loop, Parts, Process, looped
from parcast_pamela_compiler.ranges import range_of
from parcast_pamela_compiler.scope import Scope
from parcast_pamela_compiler.slices import is_reduction, is_sliced, reduction_loop
from parcast_pamela_compiler.statements import (
    EVERYONE,
    Assignment,
    assigned,
    everyone,
    fetched,
    operations,
)


def assignment_process(node: ast.Assign | ast.AugAssign, scope: Scope) -> Parts:
    """Return the process of the assignment of one number, and take note of its name.

    Arithmetic of parameters and loop variables takes nothing: it stands where its name is read.
    """
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    adds = isinstance(node, ast.AugAssign)
    count = scope.comment(node, "operations")
    if isinstance(target, ast.Name):
        if count is None and _is_known(node, target.id, scope):
            return Parts()
        if target.id in scope.arrays or target.id in scope.source.parameters:
            mend = f"write '{target.id}[:]'" if target.id in scope.arrays else "name it otherwise"
            scope.source.fail(node, f"{target.id!r} has a meaning here already; {mend}")
    elif not isinstance(target, ast.Subscript):
        scope.source.fail(node, f"{ast.unparse(target)!r} cannot be assigned; write a name, or an "
                                "element of an array")  # fmt: skip
    if count is None and is_reduction(node.value):
        return _summed(node, target, scope)
    needs = accesses(node.value, scope, counted=count is not None)
    if adds:
        needs = attrs.evolve(needs, operations=needs.operations + 1)
    assignment = Assignment(node, _target(target, scope), needs, adds, count=count)
    parts = assigned(assignment, scope)
    if isinstance(target, ast.Name):
        scope.names[target.id] = None
    return parts


def _target(target: ast.Name | ast.Subscript, scope: Scope) -> Reference | str:
    if isinstance(target, ast.Name):
        return target.id
    reference = scope.reference(target)
    for index in scope.subscripted(target)[1]:
        if scope.known(index) is None:
            accesses(index, scope)  # what it reads must be understood, and costs nothing
    return reference


def _is_known(node: ast.Assign | ast.AugAssign, name: str, scope: Scope) -> bool:
    """Return whether an assignment is arithmetic of parameters and loop variables alone."""
    value = scope.known(node.value)
    if isinstance(node, ast.AugAssign):
        old = scope.names.get(name)
        if value is None or old is None:
            if name not in scope.names:
                scope.source.fail(node, f"nothing is called {name!r} yet; assign it before")
            return False
        sign = BINARY.get(type(node.op))
        value = None if sign is None else Call(sign, (old, value))
    if value is None or name in scope.arrays or name in scope.source.parameters:
        return False
    scope.names[name] = value
    return True


def _summed(
    node: ast.Assign | ast.AugAssign, target: ast.Name | ast.Subscript, scope: Scope
) -> Parts:
    """Return a sum, minimum or maximum over slices: added up in registers, then stored."""
    assert isinstance(node.value, ast.Call)
    if is_sliced(target):
        scope.source.fail(node, f"{ast.unparse(node)!r} assigns one number to a slice; write a "
                                "loop over its elements")  # fmt: skip
    loop, element = reduction_loop(node.value, node, scope)
    headers, inner = _nest(loop, scope)
    needs = accesses(element, inner)
    assignment = Assignment(
        node,
        _target(target, scope),
        attrs.evolve(needs, operations=needs.operations + 1),
        adds=True,
        stores=False,
    )
    if not needs.owners and isinstance(assignment.target, str) and not scope.parallel:
        parts = Parts(work=everyone(_sequence(headers, assignment.computed(Name(EVERYONE)))))
        scope.names[assignment.target] = None
        return parts
    inner_parts = assigned(assignment, inner)
    work, fetch = inner_parts.work, inner_parts.fetch
    for header in reversed(headers):
        work = looped(header, work)
        fetch = tuple(node for move in fetch for node in looped(header, (move,)))
    after = inner_parts.after
    if isinstance(assignment.target, str):
        scope.names[assignment.target] = None
    elif not after:
        value = attrs.evolve(needs, operations=0, reads=())
        work += assigned(attrs.evolve(assignment, value=value, stores=True, adds=False), scope).work
    return Parts(fetch, work, after) if scope.parallel else Parts(work=fetch + work + after)


def _sequence(headers: Sequence[Header], process: Process) -> Process:
    for header in reversed(headers):
        process = (Loop(attrs.evolve(header, kind="seq"), process),)
    return process


def _nest(loop: ast.For, scope: Scope) -> tuple[list[Header], Scope]:
    headers: list[Header] = []
    node: ast.stmt = loop
    while isinstance(node, ast.For):
        assert isinstance(node.target, ast.Name)
        headers.append(range_of(node, node.target.id, scope))
        scope = scope.inside(headers[-1])
        node = node.body[0]
    return headers, scope


def call_process(node: ast.Expr, scope: Scope) -> Parts:
    """Return the process of a call whose operations a comment counts, by who has its arguments."""
    assert isinstance(node.value, ast.Call)
    count = scope.comment(node, "operations")
    if count is None:
        accesses(node.value, scope)
        scope.source.fail(node, "what this computes goes nowhere; assign it, or remove this")
    needs = accesses(node.value, scope, counted=True)
    home = next(iter(needs.owners), scope.home)
    if home is None:
        return Parts(work=everyone(operations(0, count, Name(EVERYONE), node.lineno)))
    work = operations(0, count, home.expr, node.lineno)
    return Parts(fetched(needs.owners, home, node.lineno), work)
