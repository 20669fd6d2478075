"""Assignments of slices, as loops over their elements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from parcast.quantities import Expr, spell
from parcast_pamela_compiler.scope import Scope

_REDUCTIONS = frozenset({"sum", "min", "max"})


def is_sliced(node: ast.expr) -> bool:
    """Return whether an element's subscripts have slices."""
    return isinstance(node, ast.Subscript) and any(
        isinstance(index, ast.Slice) for index in _indices(node)
    )


def is_reduction(node: ast.expr) -> bool:
    """Return whether this is ``sum``, ``min`` or ``max`` of the elements of slices."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _REDUCTIONS
        and len(node.args) == 1
        and not node.keywords
        and any(is_sliced(part) for part in ast.walk(node.args[0]) if isinstance(part, ast.expr))
    )


def element_loops(statement: ast.Assign | ast.AugAssign, scope: Scope) -> ast.For:
    """Return the parallel loops that assign the elements of a slice one by one."""
    statement = copy.deepcopy(statement)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    assert isinstance(target, ast.Subscript)
    walk = _Elements(scope, target)
    element, value = walk.visit(target), walk.visit(statement.value)
    if isinstance(statement, ast.Assign):
        inner: ast.stmt = ast.Assign(targets=[element], value=value)
    else:
        inner = ast.AugAssign(target=element, op=statement.op, value=value)
    return walk.loops(inner, statement)


def reduction_loop(call: ast.Call, statement: ast.stmt, scope: Scope) -> tuple[ast.For, ast.expr]:
    """Return the parallel loop over the elements that a call reduces, and one of them.

    The loop's body is empty.
    """
    call = copy.deepcopy(call)
    first = next(
        node for node in ast.walk(call) if isinstance(node, ast.Subscript) and is_sliced(node)
    )
    walk = _Elements(scope, first)
    value: ast.expr = walk.visit(call.args[0])
    loop = walk.loops(ast.Pass(), statement)
    for node in ast.walk(value):
        ast.copy_location(node, statement)
    return loop, value


class _Elements(ast.NodeTransformer):
    """Puts an element in place of each slice, counted from the end as NumPy does."""

    def __init__(self, scope: Scope, leading: ast.Subscript) -> None:
        self.scope = scope
        array, indices = scope.subscripted(leading)
        self.ranges = [
            _range(index, array.extents[axis], scope)
            for axis, index in enumerate(indices)
            if isinstance(index, ast.Slice)
        ]
        self.variables = list(_fresh(scope, len(self.ranges)))

    def loops(self, inner: ast.stmt, statement: ast.stmt) -> ast.For:
        """Return loops over all elements round a statement."""
        body = inner
        pairs = list(zip(self.variables, self.ranges, strict=True))
        for variable, (first, end, step) in reversed(pairs):
            call = ast.Call(ast.Name("forall", ast.Load()), [first, end, ast.Constant(step)], [])
            body = ast.For(ast.Name(variable, ast.Store()), call, [body], [])
        for node in ast.walk(body):
            ast.copy_location(node, statement)
        assert isinstance(body, ast.For)
        return body

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        if not is_sliced(node):
            return node
        array, indices = self.scope.subscripted(node)
        count = sum(isinstance(index, ast.Slice) for index in indices)
        if count > len(self.ranges):
            self.scope.source.fail(
                node, f"{ast.unparse(node)!r} has {count} slices where {len(self.ranges)} fit; "
                "write loops"
            )  # fmt: skip
        position = len(self.ranges) - count
        subscripts: list[ast.expr] = []
        for axis, index in enumerate(indices):
            if not isinstance(index, ast.Slice):
                subscripts.append(index)
                continue
            subscripts.append(
                self._element(position, _range(index, array.extents[axis], self.scope), node)
            )
            position += 1
        inner = subscripts[0] if len(subscripts) == 1 else ast.Tuple(subscripts, ast.Load())
        return ast.Subscript(node.value, inner, node.ctx)

    def _element(
        self, place: int, range_: tuple[ast.expr, ast.expr, int], node: ast.AST
    ) -> ast.expr:
        """Return the index of the element that goes with that of the leading slice."""
        variable = ast.Name(self.variables[place], ast.Load())
        (lead, _, by), (first, _, step) = self.ranges[place], range_
        if ast.dump(lead) == ast.dump(first) and by == step:
            return variable
        if step % by:
            self.scope.source.fail(
                node, f"a slice of step {step} beside one of step {by} has no place; write a loop"
            )
        offset: ast.expr = ast.BinOp(variable, ast.Sub(), lead)
        if step != by:
            offset = ast.BinOp(ast.Constant(step // by), ast.Mult(), offset)
        return ast.BinOp(first, ast.Add(), offset)


def _indices(node: ast.Subscript) -> Sequence[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _range(node: ast.Slice, extent: Expr, scope: Scope) -> tuple[ast.expr, ast.expr, int]:
    """Return first, end and step of a slice."""
    whole = ast.parse(f"({spell(extent)})", mode="eval").body
    step = 1
    if node.step is not None:
        match node.step:
            case ast.Constant(value=int() as value) if value > 0:
                step = value
            case _:
                scope.source.fail(node, f"the slice's step {ast.unparse(node.step)!r} has no "
                                        "place; write a number above 0, or a loop")  # fmt: skip
    lower = ast.Constant(0) if node.lower is None else _from_end(node.lower, whole)
    upper = whole if node.upper is None else _from_end(node.upper, whole)
    return lower, upper, step


def _from_end(node: ast.expr, whole: ast.expr) -> ast.expr:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() as size):
            return ast.BinOp(whole, ast.Sub(), size)
    return node


def _fresh(scope: Scope, count: int) -> Sequence[str]:
    used = scope.names.keys() | scope.arrays.keys()
    variables: list[str] = []
    number = 1
    while len(variables) < count:
        if f"e{number}" not in used:
            variables.append(f"e{number}")
        number += 1
    return variables
