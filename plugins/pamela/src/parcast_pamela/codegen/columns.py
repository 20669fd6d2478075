"""Formulas over columns of points: operation by operation, block by block, in a few buffers.

The operations are those of the NumPy source, each distinct one done once. What depends on single
numbers alone is done once for all points; the rest fills arrays that are used again as soon as
nothing needs what stands in them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

#: So many points at once stay in the processor's cache.
BLOCK = 16384

_OPERATORS = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide",
              ast.Pow: "power", ast.USub: "negative", ast.GtE: "greater_equal",
              ast.Eq: "equal"}  # fmt: skip
_FUNCTIONS = frozenset(
    {"maximum", "minimum", "floor", "ceil", "log2", "log", "exp", "sqrt", "gcd", "lcm"}
)
_UFUNCS = _FUNCTIONS | set(_OPERATORS.values())
_EITHER_WAY = frozenset({"add", "multiply", "maximum", "minimum", "gcd", "lcm", "equal"})
_SIGNS = {"add": " + ", "subtract": " - ", "multiply": "*", "divide": "/"}
#: What gives truth values or whole numbers
_NOT_FLOATS = frozenset({"greater_equal", "equal", "gcd", "lcm"})


@attrs.frozen
class _Step:
    """An operation on steps before it; without any, a number or a parameter's name."""

    name: str
    inputs: tuple[int, ...] = ()
    number: float | None = None


class NotByColumnsError(Exception):
    """The formula has something other than operations on numbers."""


class Columns:
    """The steps of a function, and the code that goes through them."""

    def __init__(self, source: str) -> None:
        tree = ast.parse(source)
        (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        self.parameters = [argument.arg for argument in function.args.args]
        self.steps: list[_Step] = []
        self._numbers: dict[_Step, int] = {}
        self._names = {name: self._step(_Step(name)) for name in self.parameters}
        self._made: dict[frozenset[str], Callable[..., Any]] = {}
        for line in function.body[1:]:  # after the docstring
            if isinstance(line, ast.Return):
                assert isinstance(line.value, ast.Tuple)
                self.results = [self._of(element) for element in line.value.elts]
            elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                if line.targets[0].id not in self.parameters:  # made a float: columns are
                    self._names[line.targets[0].id] = self._of(line.value)
            else:
                raise NotByColumnsError

    def _step(self, step: _Step) -> int:
        if step not in self._numbers:
            self._numbers[step] = len(self.steps)
            self.steps.append(step)
        return self._numbers[step]

    def _of(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._step(_Step("", number=float(value)))
            case ast.Name(id=name):
                return self._names[name]
            case ast.UnaryOp(op=op, operand=operand):
                return self._operation(_OPERATORS[type(op)], [operand])
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(_OPERATORS[type(op)], [left, right])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._operation(_OPERATORS[type(op)], [left, right])
            case ast.Call(func=ast.Attribute(attr="astype", value=ast.Call(args=[argument]))):
                return self._of(argument)  # of np.asarray, as gcd takes it
            case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in _FUNCTIONS:
                return self._operation(name, arguments)
        raise NotByColumnsError

    def _operation(self, name: str, arguments: Sequence[ast.expr]) -> int:
        inputs = [self._of(argument) for argument in arguments]
        numbers = [self.steps[operand].number for operand in inputs]
        if None not in numbers and name not in {"gcd", "lcm"}:
            return self._step(_Step("", number=float(getattr(np, name)(*numbers))))
        if name in {"multiply", "divide"} and numbers[1] == 1:
            return inputs[0]
        if name == "multiply" and numbers[0] == 1:
            return inputs[1]
        if name in _EITHER_WAY:
            inputs.sort()
        return self._step(_Step(name, tuple(inputs)))

    def function(self, columns: frozenset[str]) -> Callable[..., Any]:
        """Return a function of all parameters, in their order.

        Parameters
        ----------
        columns
            The parameters that are arrays of floats, a value for each point; the others are
            numbers.
        """
        if columns not in self._made:
            names: dict[str, Any] = {"np": np, **{ufunc: getattr(np, ufunc) for ufunc in _UFUNCS}}
            exec(_Code(self, columns).source(), names)  # noqa: S102  (our own text)
            self._made[columns] = names["evaluate"]
        return self._made[columns]


class _Code:
    """The source of a function for some columns.

    ``x`` is a parameter, ``v`` what depends on numbers alone, ``b`` an array that is used again,
    ``o`` a result.
    """

    def __init__(self, plan: Columns, columns: frozenset[str]) -> None:
        self.plan, self.columns = plan, columns
        self.own = {name: f"x{position}" for position, name in enumerate(plan.parameters)}
        self.moving = [False] * len(plan.steps)  # which differ from point to point
        for position, step in enumerate(plan.steps):
            self.moving[position] = step.name in columns if not step.inputs else any(
                self.moving[operand] for operand in step.inputs
            )  # fmt: skip
        self.needed = self._needed()
        last = {
            operand: position for position in self.needed for operand in plan.steps[position].inputs
        }
        self.last = {
            operand: position for operand, position in last.items() if operand not in plan.results
        }

    def _needed(self) -> list[int]:
        needed, stack = set[int](), list(self.plan.results)
        while stack:
            if (number := stack.pop()) not in needed:
                needed.add(number)
                stack += self.plan.steps[number].inputs
        return sorted(needed)

    def source(self) -> str:
        """Return the text: numbers first, then all points at once, or the loop over blocks."""
        plan = self.plan
        outs = list(dict.fromkeys(plan.results))
        columns = [self.own[name] for name in plan.parameters if name in self.columns]
        single = [
            f"v{number} = float({self._call(number)})"
            for number in self.needed
            if plan.steps[number].inputs and not self.moving[number]
        ]
        at_once, _ = self._operations(outs, {})
        buffers = [f"b{number}" for number in range(self._operations(outs, {})[1])]
        blocks, _ = self._operations(outs, {f"o{number}" for number in outs} | set(buffers))
        lines = [
            *single,
            f"count = len({columns[0]})",
            f"if count <= {BLOCK}:",
            *(f"    {line}" for line in at_once),
            f"    return {', '.join(f'o{number}' for number in plan.results)}",
            *(f"whole_{number} = np.empty(count)" for number in outs),
            *(f"room_{buffer} = np.empty({BLOCK})" for buffer in buffers),
            *(f"all_{name} = {name}" for name in columns),
            f"for start in range(0, count, {BLOCK}):",
            f"    part = slice(start, min(start + {BLOCK}, count))",
            *(f"    {buffer} = room_{buffer}[: part.stop - start]" for buffer in buffers),
            *(f"    {name} = all_{name}[part]" for name in columns),
            *(f"    o{number} = whole_{number}[part]" for number in outs),
            *(f"    {line}" for line in blocks),
            f"return {', '.join(f'whole_{number}' for number in plan.results)}",
        ]
        head = f"def evaluate({', '.join(self.own.values())}):"
        return "\n".join([head, *(f"    {line}" for line in lines)])

    def _operations(self, outs: Sequence[int], existing: Container[str]) -> tuple[list[str], int]:
        """Return the lines for points that differ, and how many arrays they use again.

        ``existing`` are the arrays that there are already; others are made on first use.
        """
        arrays: dict[int, str] = {}
        free: list[str] = []
        lines, buffer_count = [], 0
        for number in self.needed:
            step = self.plan.steps[number]
            if not self.moving[number] or not step.inputs:
                continue
            inputs = dict.fromkeys(step.inputs)
            free += [
                arrays[operand]
                for operand in inputs
                if self.last.get(operand) == number and operand in arrays
            ]
            call = self._call(number, arrays)
            if number in outs:
                name, exists = f"o{number}", f"o{number}" in existing
            elif free:
                name, exists = free.pop(), True
            else:
                name, exists, buffer_count = (
                    f"b{buffer_count}",
                    f"b{buffer_count}" in existing,
                    buffer_count + 1,
                )
            arrays[number] = name
            if exists:
                lines.append(f"{call[:-1]}, out={name})")
            else:
                lines.append(f"{name} = {self._first(number, call, arrays)}")
        for number in outs:
            if number not in arrays:  # a parameter or a number
                exists = f"o{number}" in existing
                value = self._shown(number)
                lines.append(
                    f"o{number}[:] = {value}" if exists else f"o{number} = np.full(count, {value})"
                )
        return lines, buffer_count

    def _first(self, number: int, call: str, arrays: Mapping[int, str]) -> str:
        """Return the operation that makes an array of floats."""
        name = self.plan.steps[number].name
        if name in _SIGNS:  # sooner done than the call
            return _SIGNS[name].join(self._inputs(number, arrays))
        return f"{call}.astype(float)" if name in _NOT_FLOATS else call

    def _call(self, number: int, arrays: Mapping[int, str] | None = None) -> str:
        return f"{self.plan.steps[number].name}({', '.join(self._inputs(number, arrays))})"

    def _inputs(self, number: int, arrays: Mapping[int, str] | None) -> list[str]:
        step = self.plan.steps[number]
        inputs = [(arrays or {}).get(operand) or self._shown(operand) for operand in step.inputs]
        if step.name in {"gcd", "lcm"}:
            return [f"np.asarray({text}).astype(np.int64)" for text in inputs]
        return inputs

    def _shown(self, number: int) -> str:
        step = self.plan.steps[number]
        if step.number is not None:
            return repr(step.number)
        return f"v{number}" if step.inputs else self.own[step.name]
