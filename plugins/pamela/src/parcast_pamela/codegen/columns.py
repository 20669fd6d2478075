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
        (function,) = (one for one in tree.body if isinstance(one, ast.FunctionDef))
        self.parameters = [one.arg for one in function.args.args]
        self.steps: list[_Step] = []
        self._numbers: dict[_Step, int] = {}
        self._names = {name: self._step(_Step(name)) for name in self.parameters}
        self._made: dict[frozenset[str], Callable[..., Any]] = {}
        for line in function.body[1:]:  # after the docstring
            if isinstance(line, ast.Return):
                assert isinstance(line.value, ast.Tuple)
                self.results = [self._of(one) for one in line.value.elts]
            elif isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                self._names[line.targets[0].id] = self._of(line.value)
            else:
                raise NotByColumnsError

    def _step(self, one: _Step) -> int:
        if one not in self._numbers:
            self._numbers[one] = len(self.steps)
            self.steps.append(one)
        return self._numbers[one]

    def _of(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int() | float() as value):
                return self._step(_Step("", number=float(value)))
            case ast.Name(id=name):
                return self._names[name]
            case ast.UnaryOp(op=op, operand=one):
                return self._operation(_OPERATORS[type(op)], [one])
            case ast.BinOp(left=left, op=op, right=right):
                return self._operation(_OPERATORS[type(op)], [left, right])
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._operation(_OPERATORS[type(op)], [left, right])
            case ast.Call(func=ast.Attribute(attr="astype", value=ast.Call(args=[one]))):
                return self._of(one)  # of np.asarray, as gcd takes it
            case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in _FUNCTIONS:
                return self._operation(name, arguments)
        raise NotByColumnsError

    def _operation(self, name: str, arguments: Sequence[ast.expr]) -> int:
        inputs = [self._of(one) for one in arguments]
        numbers = [self.steps[one].number for one in inputs]
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
            names: dict[str, Any] = {"np": np, **{one: getattr(np, one) for one in _UFUNCS}}
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
        self.own = {name: f"x{place}" for place, name in enumerate(plan.parameters)}
        self.moving = [False] * len(plan.steps)  # which differ from point to point
        for place, step in enumerate(plan.steps):
            self.moving[place] = step.name in columns if not step.inputs else any(
                self.moving[one] for one in step.inputs
            )  # fmt: skip
        self.needed = self._needed()
        last = {one: place for place in self.needed for one in plan.steps[place].inputs}
        self.last = {one: place for one, place in last.items() if one not in plan.results}

    def _needed(self) -> list[int]:
        found, stack = set[int](), list(self.plan.results)
        while stack:
            if (one := stack.pop()) not in found:
                found.add(one)
                stack += self.plan.steps[one].inputs
        return sorted(found)

    def source(self) -> str:
        """Return the text: numbers first, then all points at once, or the loop over blocks."""
        plan = self.plan
        outs = list(dict.fromkeys(plan.results))
        columns = [self.own[name] for name in plan.parameters if name in self.columns]
        single = [
            f"v{one} = float({self._call(one)})"
            for one in self.needed
            if plan.steps[one].inputs and not self.moving[one]
        ]
        at_once, _ = self._operations(outs, {})
        buffers = [f"b{number}" for number in range(self._operations(outs, {})[1])]
        blocks, _ = self._operations(outs, {f"o{one}" for one in outs} | set(buffers))
        lines = [
            *single,
            f"count = len({columns[0]})",
            f"if count <= {BLOCK}:",
            *(f"    {line}" for line in at_once),
            f"    return {', '.join(f'o{one}' for one in plan.results)}",
            *(f"whole_{one} = np.empty(count)" for one in outs),
            *(f"room_{one} = np.empty({BLOCK})" for one in buffers),
            *(f"all_{name} = {name}" for name in columns),
            f"for start in range(0, count, {BLOCK}):",
            f"    part = slice(start, min(start + {BLOCK}, count))",
            *(f"    {one} = room_{one}[: part.stop - start]" for one in buffers),
            *(f"    {name} = all_{name}[part]" for name in columns),
            *(f"    o{one} = whole_{one}[part]" for one in outs),
            *(f"    {line}" for line in blocks),
            f"return {', '.join(f'whole_{one}' for one in plan.results)}",
        ]
        head = f"def evaluate({', '.join(self.own.values())}):"
        return "\n".join([head, *(f"    {line}" for line in lines)])

    def _operations(self, outs: Sequence[int], known: Container[str]) -> tuple[list[str], int]:
        """Return the lines for points that differ, and how many arrays they use again.

        ``known`` are the arrays that there are already; others are made on first use.
        """
        places: dict[int, str] = {}
        free: list[str] = []
        lines, made = [], 0
        for one in self.needed:
            step = self.plan.steps[one]
            if not self.moving[one] or not step.inputs:
                continue
            inputs = dict.fromkeys(step.inputs)
            free += [
                places[each] for each in inputs if self.last.get(each) == one and each in places
            ]
            call = self._call(one, places)
            if one in outs:
                name, there = f"o{one}", f"o{one}" in known
            elif free:
                name, there = free.pop(), True
            else:
                name, there, made = f"b{made}", f"b{made}" in known, made + 1
            places[one] = name
            if there:
                lines.append(f"{call[:-1]}, out={name})")
            elif step.name in _SIGNS:  # sooner done than the call
                lines.append(f"{name} = {_SIGNS[step.name].join(self._inputs(one, places))}")
            else:
                after = ".astype(float)" if step.name in _NOT_FLOATS else ""
                lines.append(f"{name} = {call}{after}")
        for one in outs:
            if one not in places:  # a parameter or a number
                there = f"o{one}" in known
                value = self._shown(one)
                lines.append(
                    f"o{one}[:] = {value}" if there else f"o{one} = np.full(count, {value})"
                )
        return lines, made

    def _call(self, one: int, places: Mapping[int, str] | None = None) -> str:
        return f"{self.plan.steps[one].name}({', '.join(self._inputs(one, places))})"

    def _inputs(self, one: int, places: Mapping[int, str] | None) -> list[str]:
        step = self.plan.steps[one]
        inputs = [(places or {}).get(each) or self._shown(each) for each in step.inputs]
        if step.name in {"gcd", "lcm"}:
            return [f"np.asarray({each}).astype(np.int64)" for each in inputs]
        return inputs

    def _shown(self, one: int) -> str:
        step = self.plan.steps[one]
        if step.number is not None:
            return repr(step.number)
        return f"v{one}" if step.inputs else self.own[step.name]
