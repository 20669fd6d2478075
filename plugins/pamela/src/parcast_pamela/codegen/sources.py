"""Formulas as the source of functions, and as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from parcast_pamela.algebra.polynomials import BINDERS
from parcast_pamela.algebra.printing import atoms, text
from parcast_pamela.codegen.products import shared_products
from parcast_pamela.codegen.targets import NUMBA, NUMPY, PYTHON, C, Target
from parcast_pamela.codegen.writer import Writer, identifier
from parcast_pamela.compilation.compiler import Compiled
from parcast_pamela.language.tree import Number

QUANTITIES = ("critical_path", "contention", "bound", "upper")


def python_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a Python function of the model's parameters.

    It returns phi, omega, T^l and T^u. Whole numbers stay exact as far as Python's do.
    """
    return _source(compiled, "python", name)


def numpy_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the same function for arrays of parameters, of one shape or scalar.

    Where sums have no closed form it goes through the widest of their ranges.
    """
    return _source(compiled, "numpy", name)


def numba_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of the Python function, compiled by numba."""
    return _source(compiled, "numba", name)


def c_source(compiled: Compiled, name: str = "model") -> str:
    """Return the source of a C function that fills ``out`` with phi, omega, T^l and T^u."""
    arguments = [
        f"{'const double *' if parameter.dims else 'double '}{identifier(parameter_name)}"
        for parameter_name, parameter in compiled.model.parameters.items()
    ]
    lines, values = _body(compiled, C)
    lines += [f"out[{i}] = {value};" for i, value in enumerate(values)]
    body = "\n".join(f"    {line}" for line in lines)
    needed = _GCD if "pamela_gcd" in body else ""
    comment = "\n".join(f" * {line}" for line in _about(compiled))
    return (
        f"#include <math.h>\n\n/*\n{comment}\n */\n{needed}"
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


def compiled_function(
    compiled: Compiled, target: str = "python", quantities: Sequence[str] = QUANTITIES
) -> Callable[..., Any]:
    """Return a function of the parameters by name: ``python``, ``numpy`` or ``numba``.

    It returns ``quantities``, in their order, phi, omega, T^l and T^u unless others are asked.
    The numba form takes numbers only, its arrays of arguments as `numpy.vectorize` does. Where two
    quantities are the same formula, the numpy form returns one array for both.
    """
    names: dict[str, Any] = {}
    source = _source(compiled, target, quantities=quantities)
    exec(source, names)  # noqa: S102  (our own text)
    function: Callable[..., Any] = names["model"]
    return _by_columns(source, function) if target == "numpy" else function


def _by_columns(source: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a NumPy function that takes columns a block at a time, if its formulas allow it."""
    import numpy as np

    from parcast_pamela.codegen.columns import Columns, NotByColumnsError

    try:
        plan = Columns(source)
    except NotByColumnsError:
        return plain

    count, floats, array = len(plan.parameters), np.dtype(float), np.ndarray
    all_columns = plan.function(frozenset(plan.parameters))

    @wraps(plain)
    def evaluate(*arguments: Any, **keywords: Any) -> Any:
        # the usual case goes straight on
        if len(arguments) == count and type(arguments[0]) is array and arguments[0].ndim == 1:
            shape = arguments[0].shape
            for argument in arguments:
                if (
                    type(argument) is not array
                    or argument.dtype is not floats
                    or argument.shape != shape
                ):
                    break
            else:
                return all_columns(*arguments)
        values = dict(zip(plan.parameters, arguments, strict=False)) | keywords
        columns = {
            name: np.asarray(value, float) for name, value in values.items() if np.ndim(value)
        }
        shapes = {column.shape for column in columns.values()}
        if len(shapes) != 1 or len(values) < len(plan.parameters) or len(shapes.pop()) != 1:
            return plain(*arguments, **keywords)
        values |= columns
        return plan.function(frozenset(columns))(*(values[name] for name in plan.parameters))

    return evaluate


def residual(compiled: Compiled) -> list[str]:
    """Return the sums and maxima over ranges in T^l and T^u that have no closed form."""
    residuals: dict[str, None] = {}
    for quantity in QUANTITIES:
        polynomial = getattr(compiled, quantity)
        for atom in atoms(polynomial):
            if atom.kind in BINDERS:
                residuals[text(polynomial.kernel.power(atom, 1))] = None
    return list(residuals)


def _about(compiled: Compiled) -> list[str]:
    """Return what the formula is and when it holds, for a comment."""
    lines = [f"{compiled.model.name}: critical path, contention, lower bound and upper bound [s]."]
    ranges = [
        f"{name} >= {parameter.low.value}"
        for name, parameter in compiled.model.parameters.items()
        if isinstance(parameter.low, Number)
    ]
    if ranges:
        lines.append(f"Holds for {', '.join(ranges)}.")
    lines += [f"Assumes: {line}" for line in compiled.model.assumption_lines()]
    return lines


def _body(
    compiled: Compiled, target: Target, quantities: Sequence[str] = QUANTITIES
) -> tuple[list[str], list[str]]:
    """Return the lines and the values; a first pass finds what occurs more than once."""
    first = Writer(compiled, target)
    for quantity in quantities:
        first.variable_of(getattr(compiled, quantity))
    single = {atom for atom, count in first.uses.items() if count == 1}
    writer = Writer(compiled, target, shared_products(first.terms), single)
    values = [writer.variable_of(getattr(compiled, quantity)) for quantity in quantities]
    return writer.lines, values


#: How each kind of Python is written, what stands above a function, and directly above it
_PYTHONS = {
    "python": (PYTHON, "import math", ""),
    "numpy": (NUMPY, "import numpy as np", ""),
    "numba": (NUMBA, "import math\n\nimport numba", "@numba.njit\n"),
}


def _source(
    compiled: Compiled, kind: str, name: str = "model", quantities: Sequence[str] = QUANTITIES
) -> str:
    target, head, above = _PYTHONS[kind]
    lines, values = _body(compiled, target, quantities)
    if target.parameter:
        numbers = [key for key, value in compiled.model.parameters.items() if not value.dims]
        lines = [*(target.parameter.format(name=identifier(key)) for key in numbers), *lines]
    about = "\n    ".join(_about(compiled))
    arguments = ", ".join(map(identifier, compiled.model.parameters))
    doc = f'    """{about}\n    """' if "\n" in about else f'    """{about}"""'
    inner = "\n".join([doc, *(f"    {line}" for line in lines)])
    returned = f"    return {', '.join(values)}{',' * (len(values) == 1)}"
    return f"{head}\n\n\n{above}def {name}({arguments}):\n{inner}\n{returned}\n"
