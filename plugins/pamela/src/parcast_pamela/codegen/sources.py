"""Formulas as the source of functions, and as functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from parcast_pamela.algebra.polynomials import BINDERS
from parcast_pamela.algebra.printing import atoms, text
from parcast_pamela.codegen.products import shared_products
from parcast_pamela.codegen.targets import NUMPY, PYTHON, C, Target
from parcast_pamela.codegen.writer import Writer, identifier
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.tree import Number

QUANTITIES = ("critical_path", "contention", "bound", "upper")
#: So many points at once stay in the processor's cache.
_BLOCK = 16384


def python_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a Python function of the model's parameters.

    It returns phi, omega, T^l and T^u. Whole numbers stay exact as far as Python's do.
    """
    return _function(compiled, name, PYTHON, "import math")


def numpy_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the same function for arrays of parameters, of one shape or scalar.

    Where sums have no closed form it goes through the widest of their ranges.
    """
    return _function(compiled, name, NUMPY, "import numpy as np")


def numba_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the Python function, compiled by numba."""
    head = "import math\n\nimport numba"
    return _function(compiled, name, PYTHON, head, decorator="@numba.njit")


def c_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a C function that fills ``out`` with phi, omega, T^l and T^u."""
    arguments = [
        f"{'const double *' if one.dims else 'double '}{identifier(own)}"
        for own, one in compiled.model.parameters.items()
    ]
    lines, values = _body(compiled, C)
    lines += [f"out[{i}] = {value};" for i, value in enumerate(values)]
    body = "\n".join(f"    {line}" for line in lines)
    needed = _GCD if "pamela_gcd" in body else ""
    said = "\n".join(f" * {line}" for line in _about(compiled))
    return (
        f"#include <math.h>\n\n/*\n{said}\n */\n{needed}"
        f"void {name}({', '.join([*arguments, 'double out[4]'])})\n{{\n{body}\n}}\n"
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


def compiled_function(compiled: Compiled, target: str = "python") -> Callable[..., Any]:
    """Return a function of the parameters by name: ``python``, ``numpy`` or ``numba``.

    The numba form takes numbers only, its arrays of arguments as `numpy.vectorize` does.
    """
    sources = {"python": python_source, "numpy": numpy_source, "numba": numba_source}
    names: dict[str, Any] = {}
    exec(sources[target](compiled), names)  # noqa: S102  (our own text)
    found: Callable[..., Any] = names["model"]
    return _by_blocks(compiled, found) if target == "numpy" else found


def _by_blocks(compiled: Compiled, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function that takes long columns a block at a time."""
    import numpy as np

    parameters = compiled.model.parameters
    single = {identifier(name) for name, one in parameters.items() if not one.dims}

    @wraps(function)
    def evaluate(*given: Any, **named: Any) -> Any:
        if all(getattr(one, "size", 1) <= _BLOCK for one in (*given, *named.values())):
            return function(*given, **named)
        columns = dict(zip(map(identifier, parameters), given, strict=False)) | named
        long = {name for name in single & columns.keys() if np.ndim(columns[name]) == 1}
        count = max((len(columns[name]) for name in long), default=0)
        if count <= _BLOCK:
            return function(**columns)
        found = tuple(np.empty(count) for _ in QUANTITIES)
        for start in range(0, count, _BLOCK):
            part = slice(start, start + _BLOCK)
            block = {name: columns[name][part] for name in long}
            for whole, values in zip(found, function(**{**columns, **block}), strict=True):
                whole[part] = values
        return found

    return evaluate


def residual(compiled: Compiled) -> list[str]:
    """Return the sums and maxima over ranges in T^l and T^u that have no closed form."""
    found: dict[str, None] = {}
    for quantity in QUANTITIES:
        one = getattr(compiled, quantity)
        for atom in atoms(one):
            if atom.kind in BINDERS:
                found[text(one.kernel.power(atom, 1))] = None
    return list(found)


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
            line = one.place.source.text.splitlines()[one.place.line - 1]
            lines.append(f"Takes for granted: {line.partition('//')[0].strip()}")
    return list(dict.fromkeys(lines))


def _body(compiled: Compiled, target: Target) -> tuple[list[str], list[str]]:
    """Return the lines and the four values; a first pass finds what occurs more than once."""
    first = Writer(compiled, target)
    for quantity in QUANTITIES:
        first.sum(getattr(compiled, quantity))
    single = {atom for atom, count in first.uses.items() if count == 1}
    writer = Writer(compiled, target, shared_products(first.terms), single)
    values = [writer.sum(getattr(compiled, quantity)) for quantity in QUANTITIES]
    return writer.lines, values


def _function(compiled: Compiled, name: str, target: Target, head: str, decorator: str = "") -> str:
    lines, values = _body(compiled, target)
    about = "\n    ".join(_about(compiled))
    arguments = ", ".join(map(identifier, compiled.model.parameters))
    start = f"{decorator}\n" if decorator else ""
    doc = f'    """{about}\n    """' if "\n" in about else f'    """{about}"""'
    inner = "\n".join([doc, *(f"    {line}" for line in lines)])
    return f"{head}\n\n\n{start}def {name}({arguments}):\n{inner}\n    return {', '.join(values)}\n"
