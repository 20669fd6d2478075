"""Formulas as functions: Python, NumPy, numba and C, each common part computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs

from parcast_pamela.algebra.kernel import BINDERS, Atom, Monomial, Polynomial, Symbol
from parcast_pamela.algebra.terms import denominators
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.functions import Exact, size
from parcast_pamela.language.tree import Number

QUANTITIES = ("critical_path", "contention", "bound", "upper")


@attrs.frozen
class Target:
    """How a language writes a function body, line by line."""

    assign: str  #: with ``name`` and ``value``
    functions: Mapping[str, str]  #: one argument or two, as ``{0}`` and ``{1}``
    loop: tuple[str, ...]  #: before the body, with ``index``, ``low``, ``high``
    end: str  #: after it
    indent: str = "    "


_PYTHON = Target(
    assign="{name} = {value}",
    functions={
        "floor": "({0}) // ({1})",
        "max": "max({0}, {1})",
        "ge0": "({0} >= 0)",
        "eq0": "({0} == 0)",
        "gcd": "math.gcd(int({0}), int({1}))",
        "lcm": "math.lcm(int({0}), int({1}))",
        "log2": "math.log2({0})",
        "log": "math.log({0})",
        "exp": "math.exp({0})",
        "sqrt": "math.sqrt({0})",
        "pow": "({0}) ** ({1})",
    },
    loop=("for {index} in range(int({low}), int({high}) + 1):",),
    end="",
)
_NUMPY = attrs.evolve(
    _PYTHON,
    functions={
        **_PYTHON.functions,
        "max": "np.maximum({0}, {1})",
        "ge0": "1 * ({0} >= 0)",  # truth values of NumPy neither add nor subtract
        "eq0": "1 * ({0} == 0)",
        "gcd": "np.gcd(np.asarray({0}).astype(np.int64), np.asarray({1}).astype(np.int64))",
        "lcm": "np.lcm(np.asarray({0}).astype(np.int64), np.asarray({1}).astype(np.int64))",
        **{name: f"np.{name}({{0}})" for name in ("log2", "log", "exp", "sqrt")},
    },
)
_C = Target(
    assign="double {name} = {value};",
    functions={
        "floor": "floor(({0}) / ({1}))",
        "max": "fmax({0}, {1})",
        "ge0": "({0} >= 0)",
        "eq0": "({0} == 0)",
        "gcd": "pamela_gcd({0}, {1})",
        "lcm": "(({0}) / pamela_gcd({0}, {1}) * ({1}))",
        **{name: f"{name}({{0}})" for name in ("log2", "log", "exp", "sqrt")},
        "pow": "pow({0}, {1})",
    },
    loop=("for (double {index} = {low}; {index} <= {high}; {index}++) {{",),
    end="}",
)


def python_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a Python function of the model's parameters.

    It returns phi, omega, T^l and T^u. Whole numbers stay exact as far as Python's do.
    """
    return _function(compiled, name, _PYTHON, "import math")


def numpy_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the same function for arrays of parameters, of one shape or scalar.

    Raises
    ------
    ValueError
        If a sum has no closed form, since its range may differ from point to point; the
        function of `numba_source` takes arrays then.
    """
    if residual(compiled):
        raise ValueError("a sum or maximum has no closed form; use the numba form")
    return _function(compiled, name, _NUMPY, "import numpy as np")


def numba_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the Python function, compiled by numba."""
    head = "import math\n\nimport numba"
    return _function(compiled, name, _PYTHON, head, decorator="@numba.njit")


def c_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a C function that fills ``out`` with phi, omega, T^l and T^u."""
    names = _parameters(compiled)
    arguments = [
        f"const double *{one}" if compiled.model.parameters[one].dims else f"double {one}"
        for one in names
    ]
    writer = _Writer(compiled, _C)
    values = [writer.sum(getattr(compiled, one)) for one in QUANTITIES]
    lines = [f"    {line}" for line in writer.lines]
    lines += [f"    out[{i}] = {value};" for i, value in enumerate(values)]
    body = "\n".join(lines)
    needed = _GCD if "pamela_gcd" in body else ""
    said = "\n".join(f" * {line}" for line in _about(compiled))
    return (
        f"#include <math.h>\n\n/*\n{said}\n */\n{needed}"
        f"void {name}({', '.join([*map(_c_name, arguments), 'double out[4]'])})\n{{\n"
        f"{body}\n}}\n"
    )


_GCD = """static double pamela_gcd(double a, double b)
{
    a = fabs(a);
    b = fabs(b);
    while (b > 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

"""


def _c_name(argument: str) -> str:
    return argument.replace(".", "_")


def compiled_function(compiled: Compiled, target: str = "python") -> Callable[..., Any]:
    """Return a function of the parameters by name: ``python``, ``numpy`` or ``numba``.

    The numba form takes numbers only, its arrays of arguments as `numpy.vectorize` does.
    """
    sources = {"python": python_source, "numpy": numpy_source, "numba": numba_source}
    names: dict[str, Any] = {}
    exec(sources[target](compiled), names)  # noqa: S102  (our own text)
    found: Callable[..., Any] = names["model"]
    return found


def residual(compiled: Compiled) -> list[str]:
    """Return the sums and maxima over ranges in T^l and T^u that have no closed form."""
    from parcast_pamela.algebra.printing import atoms, text

    found: dict[str, None] = {}
    for one in (compiled.critical_path, compiled.contention, compiled.bound, compiled.upper):
        for atom in atoms(one):
            if atom.kind in BINDERS:
                found[text(one.kernel.power(atom, 1))] = None
    return list(found)


def _parameters(compiled: Compiled) -> list[str]:
    return list(compiled.model.parameters)


def _about(compiled: Compiled) -> list[str]:
    """Return what the formula is and when it holds, for a comment."""
    lines = [f"{compiled.model.name}: critical path, contention, lower bound and upper bound [s]."]
    ranges = [
        f"{name} >= {one.low.value}"
        for name, one in compiled.model.parameters.items()
        if isinstance(one.low, Number)
    ]
    if ranges:
        lines.append(f"Holds for {', '.join(ranges)}.")
    for one in compiled.model.assumptions:
        if one.place:
            text = one.place.source.text.splitlines()[one.place.line - 1]
            lines.append(f"Takes for granted: {text.partition('//')[0].strip()}")
    return list(dict.fromkeys(lines))


def _function(compiled: Compiled, name: str, target: Target, head: str, decorator: str = "") -> str:
    writer = _Writer(compiled, target)
    values = [writer.sum(getattr(compiled, one)) for one in QUANTITIES]
    about = "\n    ".join(_about(compiled))
    lines = [f"    {line}" for line in writer.lines]
    arguments = ", ".join(map(_c_name, _parameters(compiled)))
    start = f"{decorator}\n" if decorator else ""
    doc = f'    """{about}\n    """' if "\n" in about else f'    """{about}"""'
    body = "\n".join([doc, *lines, f"    return {', '.join(values)}"])
    return f"{head}\n\n\n{start}def {name}({arguments}):\n{body}\n"


class _Writer:
    """Writes expressions; every atom becomes a variable in the outermost loop that it can."""

    def __init__(self, compiled: Compiled, target: Target) -> None:
        self.compiled, self.target = compiled, target
        self.scopes: list[tuple[set[Symbol], dict[Atom, str], list[str]]] = [(set(), {}, [])]
        self.count = 0

    @property
    def lines(self) -> list[str]:
        return self.scopes[0][2]

    def sum(self, one: Polynomial) -> str:
        """Return an expression over variables that are written before it."""
        shown = ""
        if not one.terms:
            return self._number(0)
        for monomial, coefficient in one.terms:
            part = self._term(monomial, size(coefficient))
            if shown:
                shown += f" {'-' if coefficient < 0 else '+'} {part}"
            else:
                shown = f"-{part}" if coefficient < 0 else part
        return shown

    def _term(self, monomial: Monomial, coefficient: Exact) -> str:
        fraction = Fraction(coefficient)
        over = [self._atom(atom) for atom, e in monomial for _ in range(e)]
        under = [self._atom(atom) for atom, e in monomial for _ in range(-e)]
        if fraction.numerator != 1 or not over:
            over.insert(0, self._number(fraction.numerator))
        if fraction.denominator != 1:
            under.insert(0, self._number(fraction.denominator))
        top = " * ".join(over)
        if not under:
            return top
        return f"{top} / {under[0]}" if len(under) == 1 else f"{top} / ({' * '.join(under)})"

    def _number(self, value: int) -> str:
        return f"{value}.0" if self.target is _C or abs(value) >= 2**63 else str(value)

    def _atom(self, atom: Atom) -> str:
        if atom.kind == "sym":
            name: str = atom.arguments[0].name
            return _c_name(name)
        for _, known, _ in self.scopes:
            if atom in known:
                return known[atom]
        indices = {symbol for symbol in atom.free if symbol.level}
        level = next(
            level
            for level in range(len(self.scopes))
            if indices <= set().union(*(scope[0] for scope in self.scopes[: level + 1]))
        )
        kept, self.scopes = self.scopes, self.scopes[: level + 1]
        if atom.kind in BINDERS:
            name = self._over(atom)
        else:
            value = self._value(atom)
            name = self._fresh("x")
            self.scopes[-1][2].append(self.target.assign.format(name=name, value=value))
        self.scopes[-1][1][atom] = name
        self.scopes = kept
        return name

    def _fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}_"

    def _value(self, atom: Atom) -> str:
        kind, arguments = atom.kind, atom.arguments
        functions = self.target.functions
        if kind == "floor":
            under = denominators(arguments[0].kernel, arguments[0])
            over = arguments[0].kernel.expanded(arguments[0] * under)
            return functions["floor"].format(self.sum(over), self.sum(under))
        if kind == "poly":
            return self.sum(arguments[0])
        if kind == "item":
            return self._item(arguments[0].name, arguments[1:])
        items = [self.sum(one) for one in arguments]
        shown = items[0]
        if len(items) == 1:
            return functions[kind].format(shown)
        for other in items[1:]:
            shown = functions[kind].format(shown, other)
        return shown

    def _item(self, name: str, indices: Sequence[Polynomial]) -> str:
        """Return an element of an array whose first index is its declared one."""
        spans = self.compiled.model.parameters[name].dims
        places = []
        for index, span in zip(indices, spans, strict=True):
            low = getattr(span.first, "value", None)
            if low is None or len(spans) > 1:
                raise ValueError(f"{name} is no list that starts at a number; no code for it")
            place = self.sum(index - int(low))
            places.append(f"(int)({place})" if self.target is _C else f"int({place})")
        return f"{_c_name(name)}[{', '.join(places)}]"

    def _over(self, atom: Atom) -> str:
        index, low, high, body = atom.arguments
        ends = self.sum(low), self.sum(high)
        name = self._fresh("s")
        start = {"sum": "0", "top": "0", "prod": "1", "most": "-math.inf"}[atom.kind]
        if self.target is _C:
            start = start.replace("-math.inf", "-INFINITY")
        outer = self.scopes[-1][2]
        outer.append(self.target.assign.format(name=name, value=start))
        loop = {"index": index.name, "low": ends[0], "high": ends[1]}
        self.scopes.append(({index}, {}, []))
        value = self.sum(body)
        inner = self.scopes.pop()[2]
        sign = {"sum": f"{name} + {value}", "prod": f"{name} * ({value})"}.get(
            atom.kind, self.target.functions["max"].format(name, value)
        )
        step = f"{name} = {sign}{';' if self.target is _C else ''}"
        outer += [line.format(**loop) for line in self.target.loop]
        outer += [self.target.indent + line for line in (*inner, step)]
        if self.target.end:
            outer.append(self.target.end)
        return name
