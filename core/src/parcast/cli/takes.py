"""What a field of options, parts or kinds takes, in words."""

from __future__ import annotations

import math
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from parcast.model.machine import Machine
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Formula, Unit, Whole

_PLAIN = {
    bool: "true or false",
    str: "text",
    Machine: "a machine",
    float: "a number",
    int: "a whole number",
}


def takes(kind: Any) -> str:
    """Return what a field of this type takes: ``a number of s, above 0, or nothing``."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(map(str, inner))
    if origin in {Union, UnionType}:
        words = [takes(variant) for variant in inner if variant is not NoneType]
        return " or ".join(words + ["nothing"] * (NoneType in inner))
    if origin is Annotated:
        return _annotated(*inner)
    if origin is tuple:
        return f"a list, each {takes(inner[0])}"
    if origin is not None:
        return "a table"
    return _PLAIN.get(kind, "a table")


def _annotated(kind: Any, *hints: Any) -> str:
    for hint in hints:
        if isinstance(hint, Whole):
            return f"a whole number, {hint.least} or more"
        if isinstance(hint, Unit):
            noun = {Distribution: "a law", Formula: "a formula"}.get(kind, "a number")
            unit = "" if hint.dimension == "1" else f" of {hint.dimension}"
            least = ", above 0" if hint.positive else ""
            largest = "" if math.isinf(hint.most) else f", at most {hint.most:g}"
            return f"{noun}{unit}{least}{largest}"
    return takes(kind)
