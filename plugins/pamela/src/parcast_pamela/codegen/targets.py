"""How each language writes what a formula is made of."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Target:
    """How a language writes a function body, line by line."""

    assign: str  #: with ``name`` and ``value``
    functions: Mapping[str, str]  #: one argument or two, as ``{0}`` and ``{1}``
    loop: tuple[str, ...]  #: before the body, with ``index``, ``low``, ``high``
    end: str  #: after it
    item: str  #: one index of an array, with ``position`` counted from 0, ``name`` and ``axis``
    least: str = "-math.inf"  #: below any number
    join: str = ", "  #: between the indices of an array
    element: str = "{0}"  #: around an element of an array
    step: str = "{name} = {value}"  #: a loop's own line, with ``name``, ``value`` and the loop's
    floats: bool = False  #: whether every number is a float
    indent: str = "    "
    parameter: str = ""  #: a line for each ``name`` of a single number, before all others


PYTHON = Target(
    assign="{name} = {value}",
    functions={
        "floor": "({0}) // ({1})",
        "ceil": "-(-({0}) // ({1}))",
        "max": "max({0}, {1})",
        "min": "min({0}, {1})",
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
    item="int({position})",
    join="][",
)

#: Whole numbers of 64 bits would overflow unseen where those of Python grow.
_FLOAT, _FLOAT_ELEMENT = "{name} = 1.0 * {name}", "(1.0 * {0})"

NUMBA = attrs.evolve(
    PYTHON,
    loop=(
        "for {index}_ in range(int({low}), int({high}) + 1):",
        "    {index} = 1.0 * {index}_",
    ),
    element=_FLOAT_ELEMENT,
    parameter=_FLOAT,
)

#: The range of a sum may differ from point to point, so that a loop goes through all of them;
#: outside of its own a point has whatever an array or a division gives, and it is not used.
NUMPY = attrs.evolve(
    PYTHON,
    functions={
        **PYTHON.functions,
        "floor": "np.floor(({0}) / ({1}))",
        "ceil": "np.ceil(({0}) / ({1}))",
        "max": "np.maximum({0}, {1})",
        "min": "np.minimum({0}, {1})",
        "ge0": "1 * ({0} >= 0)",  # truth values of NumPy neither add nor subtract
        "eq0": "1 * ({0} == 0)",
        "gcd": "np.gcd(np.asarray({0}).astype(np.int64), np.asarray({1}).astype(np.int64))",
        "lcm": "np.lcm(np.asarray({0}).astype(np.int64), np.asarray({1}).astype(np.int64))",
        **{name: f"np.{name}({{0}})" for name in ("log2", "log", "exp", "sqrt")},
    },
    loop=("for {index} in np.arange(np.min({low}), np.max({high}) + 1.0):",),
    item="np.clip({position}, 0, np.shape({name})[{axis}] - 1).astype(np.int64)",
    least="-np.inf",
    join=", ",
    step="{name} = np.where(({index} >= {low}) & ({index} <= {high}), {value}, {name})",
    element=_FLOAT_ELEMENT,
    parameter=_FLOAT,
)

C = Target(
    assign="double {name} = {value};",
    functions={
        "floor": "floor(({0}) / ({1}))",
        "ceil": "ceil(({0}) / ({1}))",
        "max": "fmax({0}, {1})",
        "min": "fmin({0}, {1})",
        "ge0": "({0} >= 0)",
        "eq0": "({0} == 0)",
        "gcd": "pamela_gcd({0}, {1})",
        "lcm": "(({0}) / pamela_gcd({0}, {1}) * ({1}))",
        **{name: f"{name}({{0}})" for name in ("log2", "log", "exp", "sqrt")},
        "pow": "pow({0}, {1})",
    },
    loop=("for (double {index} = {low}; {index} <= {high}; {index}++) {{",),
    end="}",
    item="(long)({position})",
    least="-INFINITY",
    step="{name} = {value};",
    floats=True,
)
