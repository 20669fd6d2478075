"""What an expression takes: how many operations, and which elements it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NoReturn

import attrs

from parcast.errors import did_you_mean
from parcast.quantities import BINARY, describe
from parcast_pamela_compiler.arrays import Owner, Reference
from parcast_pamela_compiler.scope import Scope

#: Functions of numbers, each of one operation; ``min`` and ``max`` of one for each further number
_FUNCTIONS = frozenset({"abs", "sqrt", "floor", "ceil", "log2", "exp", "min", "max"})
_OVER_ELEMENTS = frozenset({"sum", "min", "max"})

_INSTEAD = {
    ast.IfExp: "an 'if' statement with '# pamela: probability = ...'",
    ast.ListComp: "a 'for' loop over elements, or a slice",
    ast.GeneratorExp: "a 'for' loop over elements, or a slice",
    ast.SetComp: "a 'for' loop over elements, or a slice",
    ast.DictComp: "a 'for' loop over elements, or a slice",
    ast.Lambda: "the expression itself",
    ast.NamedExpr: "an assignment of its own",
    ast.List: "an array: 'a = array(N, replicated)'",
    ast.Tuple: "one assignment for each",
    ast.Attribute: "the array's name, and subscripts",
    ast.MatMult: "loops, or 'sum(A[i, :] * x[:])'",
}


@attrs.frozen
class Accesses:
    """What an expression takes."""

    operations: int = 0
    reads: tuple[Reference, ...] = ()

    def __add__(self, other: Accesses) -> Accesses:
        return Accesses(self.operations + other.operations, self.reads + other.reads)

    @property
    def owners(self) -> tuple[Owner, ...]:
        """Whose the elements are, of each element once."""
        elements = dict.fromkeys(
            reference for reference in self.reads if None not in reference.subscripts
        )
        others = [reference for reference in self.reads if None in reference.subscripts]
        return tuple(
            reference.owner for reference in (*elements, *others) if reference.owner is not None
        )


def accesses(node: ast.expr, scope: Scope, *, counted: bool = False) -> Accesses:
    """Return what an expression takes.

    Subscripts cost nothing; an operator, a comparison or a function of numbers is an operation.
    If the operations are ``counted`` by a comment, any call may stand in the expression, and
    elements that it reads may be slices of axes that are not spread.

    Raises
    ------
    FileError
        If something in it is not understood, or nothing tells whose an element is.
    """
    return sum(_accesses(node, scope, counted), Accesses())


def _accesses(node: ast.expr, scope: Scope, counted: bool) -> Iterator[Accesses]:
    match node:
        case ast.Constant(value=int() | float()):
            pass
        case ast.Name(id=name):
            _check_name(node, name, scope, counted)
        case ast.Subscript():
            yield Accesses(0, (_read(node, scope, counted),))
            yield from _of_subscripts(node, scope, counted)
        case _:
            count, operands = _operation(node, scope, counted)
            if not all(isinstance(operand, ast.Constant) for operand in operands):
                yield Accesses(count)
            for operand in operands:
                yield from _accesses(operand, scope, counted)


def _operation(node: ast.expr, scope: Scope, counted: bool) -> tuple[int, Sequence[ast.expr]]:
    """Return how many operations a node takes by itself, and what it is of."""
    match node:
        case ast.BinOp(op=op) if type(op) in BINARY:
            return 1, [node.left, node.right]
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.UAdd() as op):
            return int(not isinstance(op, ast.UAdd)), [node.operand]
        case ast.Compare(ops=ops):
            return len(ops), [node.left, *node.comparators]
        case ast.BoolOp(values=values):
            return len(values) - 1, values
        case ast.Call() if counted:
            of = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            return 0, [*of, *node.args, *(keyword.value for keyword in node.keywords)]
        case ast.Call(func=ast.Name(id=name), args=[_]) if name in _OVER_ELEMENTS:
            return scope.source.fail(
                node,
                f"{ast.unparse(node)!r} must be all that is assigned, with slices in it: "
                f"'name = {ast.unparse(node)}'",
            )
        case ast.Call(func=ast.Name(id=name)) if name in _FUNCTIONS and not node.keywords:
            return max(1, len(node.args) - 1), node.args
        case _:
            return _refuse(node, scope)


def _check_name(node: ast.Name, name: str, scope: Scope, counted: bool) -> None:
    if name in scope.arrays:
        array = scope.arrays[name]
        whole = ", ".join(":" for _ in array.extents)
        if not counted:
            scope.source.fail(node, f"{name} is an array; write '{name}[{whole}]', or an element")
        if array.axis is not None:
            scope.source.fail(node, f"{name} is spread over the processors; call this for the "
                                    "part of each, in a loop 'for p in forall(P)'")  # fmt: skip
    elif name not in scope.names:
        hint = did_you_mean(name, {**scope.names, **scope.arrays})
        scope.source.fail(node, f"nothing is called {name!r}.{hint}")


def _read(node: ast.Subscript, scope: Scope, counted: bool) -> Reference:
    array, indices = scope.subscripted(node)
    for axis, index in enumerate(indices):
        if isinstance(index, ast.Slice) and (not counted or axis == array.axis):
            scope.source.fail(node, f"the slice {ast.unparse(node)!r} stands where one number is "
                                    "wanted; assign it to a slice, or write a loop")  # fmt: skip
    reference = scope.reference(node)
    if array.axis is not None and reference.owner is None:
        scope.source.fail(
            node,
            f"only the data tell whose {ast.unparse(node)} is; write a subscript of loop variables "
            f"and parameters on axis {array.axis} of {array.name}, or spread another axis",
        )
    return reference


def _of_subscripts(node: ast.Subscript, scope: Scope, counted: bool) -> Iterator[Accesses]:
    """Yield the elements that subscripts read; their arithmetic is free."""
    for index in scope.subscripted(node)[1]:
        if not isinstance(index, ast.Slice) and scope.known(index) is None:
            yield Accesses(0, accesses(index, scope, counted=counted).reads)


def _refuse(node: ast.expr, scope: Scope) -> NoReturn:
    if isinstance(node, ast.Call):
        callee = ast.unparse(node.func)
        scope.source.fail(
            node,
            f"the call of {callee}() is not understood; write its loops here, or how many "
            "operations it takes: '# pamela: operations = ...'",
        )
    key = type(getattr(node, "op", node))
    instead = _INSTEAD.get(key) or _INSTEAD.get(type(node))
    mend = f"; write {instead}" if instead else "; write arithmetic of numbers and elements"
    construct = "a conditional expression" if isinstance(node, ast.IfExp) else describe(node)
    scope.source.fail(node, f"{construct} is not understood{mend}")
