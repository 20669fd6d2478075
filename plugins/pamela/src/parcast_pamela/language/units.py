"""Units of literals and dimensions of expressions."""

from __future__ import annotations

import re
from fractions import Fraction

#: Exponents by base dimension, sorted; empty is a plain number
Dimension = tuple[tuple[str, int], ...]

#: The dimension of each declared type; ``int`` and ``real`` may stand for anything
TYPES: dict[str, Dimension | None] = {
    "int": None,
    "real": None,
    "time": (("time", 1),),
    "bytes": (("bytes", 1),),
    "flop": (("flop", 1),),
    "rate": (("rate", 1),),
    "prob": (),
    "bool": (),
}

_PREFIX = {
    "": Fraction(1),
    **{letter: Fraction(10) ** (3 * (power + 1)) for power, letter in enumerate("kMGTP")},
    **{f"{letter}i": Fraction(2) ** (10 * (power + 1)) for power, letter in enumerate("KMGT")},
    **{letter: Fraction(1, 1000 ** (power + 1)) for power, letter in enumerate("munp")},
    "µ": Fraction(1, 1000**2),
}
_BASE = {
    "s": ("time", Fraction(1)),
    "B": ("bytes", Fraction(1)),
    "b": ("bytes", Fraction(1, 8)),
    "flop": ("flop", Fraction(1)),
    "op": ("flop", Fraction(1)),
    "cy": ("cycles", Fraction(1)),
    "Hz": ("rate", Fraction(1)),
}
_UNIT = re.compile(r"([KMGT]i|[kMGTPmunpµ])??(s|B|b|flop|op|cy|Hz)")


def unit(text: str) -> tuple[Fraction, Dimension]:
    """Return the factor and the dimension of a unit such as ``GB/s``."""
    over, slash, under = text.partition("/")
    factor, name = _simple(over)
    if not slash:
        return factor, ((name, 1),)
    below, lower = _simple(under)
    if lower == "time":
        return factor / below, (("rate", 1),)
    return factor / below, product(((name, 1),), ((lower, 1),), -1)


def _simple(text: str) -> tuple[Fraction, str]:
    match = _UNIT.fullmatch(text)
    assert match, text  # the grammar admits no other
    name, factor = _BASE[match[2]]
    return _PREFIX[match[1] or ""] * factor, name


def product(left: Dimension, right: Dimension, sign: int = 1) -> Dimension:
    """Return the dimension of a product, or of a quotient with ``sign`` -1.

    An amount by a rate, whatever it is an amount of, is a time.
    """
    powers = dict(left)
    for name, exponent in right:
        powers[name] = powers.get(name, 0) + sign * exponent
    for amount in ("bytes", "flop", "cycles"):
        if powers.get(amount, 0) > 0 and powers.get("rate", 0) < 0:
            powers[amount] -= 1
            powers["rate"] += 1
            powers["time"] = powers.get("time", 0) + 1
    return tuple(sorted((name, exponent) for name, exponent in powers.items() if exponent))


def words(dimension: Dimension) -> str:
    """Return a dimension in words: ``time * bytes^-1``."""
    factors = [name if power == 1 else f"{name}^{power}" for name, power in dimension]
    return " * ".join(factors) or "a plain number"
