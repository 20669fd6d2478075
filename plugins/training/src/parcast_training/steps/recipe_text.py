"""Recipes of NeMo 2 as text: what their functions return, read and never executed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parcast.errors import ParcastError, shorten

#: Calls that state a target and its settings.
_STATES = {"run.Config", "run.Partial", "Config", "Partial"}

#: Statements that state nothing: calls beside, and what checks or names something.
_PASSED_OVER = (ast.Expr, ast.Pass, ast.Import, ast.ImportFrom, ast.Assert)

#: A recipe calls functions in functions so deep at most.
_DEEPEST = 20

_NUMBERS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
}


@dataclass(frozen=True, slots=True)
class Open:
    """A value that the text does not determine."""

    text: str
    line: int


@dataclass(slots=True)
class Part:
    """What a recipe states: a target and its settings."""

    target: str
    line: int
    settings: dict[str, Any] = field(default_factory=dict)


class Recipe:
    """The functions of a recipe's text."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self._globals: dict[str, Any] = {}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                self._assign(node, self._globals, 0)

    def returned(self, name: str) -> Any:
        """Return what a function returns where its caller states nothing.

        Raises
        ------
        ParcastError
            If it has statements that are not followed.
        """
        return self._call(self.functions[name], [], {}, 0)

    def of_class(self, name: str) -> dict[str, Any]:
        """Return the values of a class's fields, those of its bases in the text among them."""
        node = self.classes.get(name)
        if node is None:
            return {}
        values: dict[str, Any] = {}
        for base in node.bases:
            values |= self.of_class(ast.unparse(base))
        for line in node.body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value:
                values[line.target.id] = self._value(line.value, {}, 0)
        return values

    def _call(
        self, node: ast.FunctionDef, values: list[Any], named: dict[str, Any], depth: int
    ) -> Any:
        if depth > _DEEPEST:
            raise ParcastError(f"line {node.lineno}: {node.name} calls itself without end")
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        scope: dict[str, Any] = {name: Open(name, node.lineno) for name in names}
        defaults = node.args.defaults
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            scope[name] = self._value(default, {}, depth)
        for a, keyword in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            scope[a.arg] = self._value(keyword, {}, depth) if keyword else Open(a.arg, node.lineno)
        scope |= dict(zip(names, values, strict=False)) | named
        finished, value = self._run(node.body, scope, depth)
        return value if finished else None

    def _run(self, body: list[ast.stmt], scope: dict[str, Any], depth: int) -> tuple[bool, Any]:
        """Return whether statements return, and what."""
        for node in body:
            if isinstance(node, ast.Return):
                return True, self._value(node.value, scope, depth) if node.value else None
            if isinstance(node, ast.If):
                test = self._value(node.test, scope, depth)
                if isinstance(test, Open):
                    raise ParcastError(
                        f"line {node.lineno}: what 'if {shorten(ast.unparse(node.test))}' says is "
                        "for its caller"
                    )
                finished, value = self._run(node.body if test else node.orelse, scope, depth)
                if finished:
                    return True, value
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                self._assign(node, scope, depth)
            elif not isinstance(node, _PASSED_OVER):
                text = shorten(ast.unparse(node).split("\n")[0])
                raise ParcastError(f"line {node.lineno}: {text} is for Python to work out")
        return False, None

    def _assign(self, node: ast.Assign | ast.AnnAssign, scope: dict[str, Any], depth: int) -> None:
        if node.value is None:
            return
        value = self._value(node.value, scope, depth)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Name):
                scope[target.id] = value
            elif isinstance(target, ast.Attribute):
                owner = self._value(target.value, scope, depth)
                if isinstance(owner, Part):
                    owner.settings[target.attr] = value

    def _value(self, node: ast.expr, scope: dict[str, Any], depth: int) -> Any:
        unknown = Open(shorten(ast.unparse(node)), node.lineno)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return scope.get(node.id, self._globals.get(node.id, unknown))
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value, scope, depth)
            return owner.settings.get(node.attr, unknown) if isinstance(owner, Part) else unknown
        if isinstance(node, ast.List | ast.Tuple):
            return [self._value(part, scope, depth) for part in node.elts]
        if isinstance(node, ast.Call):
            return self._called(node, scope, depth)
        return self._worked_out(node, scope, depth, unknown)

    def _called(self, node: ast.Call, scope: dict[str, Any], depth: int) -> Any:
        name = ast.unparse(node.func)
        values = [self._value(part, scope, depth) for part in node.args]
        named = {k.arg: self._value(k.value, scope, depth) for k in node.keywords if k.arg}
        if name in _STATES and node.args:
            return Part(ast.unparse(node.args[0]).rpartition(".")[2], node.lineno, named)
        if name in self.functions:
            return self._call(self.functions[name], values, named, depth + 1)
        return Open(f"{name}()", node.lineno)

    def _worked_out(self, node: ast.expr, scope: dict[str, Any], depth: int, unknown: Open) -> Any:
        """Return what an operation gives, if it is one of numbers or a comparison."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            value = self._value(node.operand, scope, depth)
            if isinstance(value, Open | Part | str):
                return unknown
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _NUMBERS:
            sides = [self._value(side, scope, depth) for side in (node.left, node.right)]
            if all(isinstance(side, int | float) for side in sides):
                return _NUMBERS[type(node.op)](*sides)
        if isinstance(node, ast.IfExp):
            test = self._value(node.test, scope, depth)
            if not isinstance(test, Open):
                return self._value(node.body if test else node.orelse, scope, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = (self._value(n, scope, depth) for n in (node.left, node.comparators[0]))
            if not isinstance(left, Open) and not isinstance(right, Open):
                if isinstance(node.ops[0], ast.Is | ast.Eq):
                    return left == right
                if isinstance(node.ops[0], ast.IsNot | ast.NotEq):
                    return left != right
        return unknown
