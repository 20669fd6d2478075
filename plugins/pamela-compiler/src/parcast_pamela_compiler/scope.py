"""What is known at a place of a program: its names, its arrays and the loops around it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import attrs

from parcast.errors import FormulaError, did_you_mean
from parcast.quantities import Expr, Name, from_ast, names_in
from parcast_pamela_compiler.affine import plus, simple, substitute
from parcast_pamela_compiler.arrays import Array, Owner, Reference
from parcast_pamela_compiler.processes import Header
from parcast_pamela_compiler.source import Source
from parcast_pamela_compiler.spelling import without_word


@attrs.define(eq=False)
class Scope:
    """A place in a program.

    ``names`` are expressions of parameters and loop variables, which cost nothing, and None for
    what the data tell. ``private`` names belong to one iteration of a parallel loop, whose
    processor is ``home``.
    """

    source: Source
    names: dict[str, Expr | None]
    arrays: Mapping[str, Array]
    loops: tuple[Header, ...] = ()
    home: Owner | None = None
    private: frozenset[str] = frozenset()

    @property
    def parallel(self) -> bool:
        """Whether a parallel loop is around this place."""
        return any(loop.kind == "par" for loop in self.loops)

    def inside(self, header: Header) -> Scope:
        """Return the place within one loop more, with names of its own."""
        names = {**self.names, header.variable: Name(header.variable)}
        return attrs.evolve(self, names=names, loops=(*self.loops, header))

    def known(self, node: ast.expr) -> Expr | None:
        """Return an expression of parameters and loop variables, None if the data play a part."""
        if any(isinstance(part, ast.Subscript | ast.Attribute) for part in ast.walk(node)):
            return None
        try:
            expr = from_ast(node)
        except FormulaError:
            return None
        if without_word(expr):
            return None
        names: dict[str, Expr] = {}
        for name in names_in(expr):
            if name in self.arrays:
                return None
            if name not in self.names:
                hint = did_you_mean(name, {**self.names, **self.arrays})
                self.source.fail(node, f"nothing is called {name!r}.{hint}")
            value = self.names[name]
            if value is None:
                return None
            names[name] = value
        return simple(substitute(expr, names))

    def comment(self, node: ast.AST, name: str) -> Expr | None:
        """Return what a statement's comment says, in terms of parameters and loop variables."""
        stated = self.source.stated(node, name)
        if stated is None:
            return None
        names: dict[str, Expr] = {}
        for variable in names_in(stated):
            value = self.names.get(variable)
            if value is None:
                hint = did_you_mean(
                    variable, [key for key, expr in self.names.items() if expr is not None]
                )
                self.source.fail(node, f"the comment names {variable!r}, which is neither a "
                                       f"parameter nor a loop's variable.{hint}")  # fmt: skip
            names[variable] = value
        return simple(substitute(stated, names))

    def reference(self, node: ast.Subscript) -> Reference:
        """Return the element that a subscript names, without slices."""
        array, indices = self.subscripted(node)
        subscripts: list[Expr | None] = []
        for axis, index in enumerate(indices):
            if isinstance(index, ast.Slice):
                subscripts.append(None)
                continue
            subscript = self.known(index)
            if _is_negative(index):
                assert subscript is not None
                subscript = plus(array.extents[axis], subscript)
            subscripts.append(subscript)
        return Reference(array, tuple(subscripts))

    def subscripted(self, node: ast.Subscript) -> tuple[Array, tuple[ast.expr, ...]]:
        """Return the array of a subscript, and an index or slice for each axis."""
        name = node.value.id if isinstance(node.value, ast.Name) else None
        if name is None or name not in self.arrays:
            text = ast.unparse(node.value)
            hint = did_you_mean(text, self.arrays)
            self.source.fail(node, f"{text!r} is no array; declare it: "
                                   f"'{text} = array(N, block)'.{hint}")  # fmt: skip
        array = self.arrays[name]
        inner = node.slice
        indices = tuple(inner.elts) if isinstance(inner, ast.Tuple) else (inner,)
        if len(indices) != len(array.extents):
            written = ", ".join([*map(ast.unparse, indices), *[":"] * len(array.extents)])
            subscripts = ", ".join(written.split(", ")[: len(array.extents)])
            axes = f"{len(array.extents)} {'axis' if len(array.extents) == 1 else 'axes'}"
            self.source.fail(node, f"{name} has {axes}; write '{name}[{subscripts}]'")
        return array, indices


def _is_negative(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    )
