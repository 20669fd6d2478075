"""Statements of the language, from expressions of programs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from parcast.program import Op
from parcast.quantities import Call, Expr, Name, Num
from parcast_pamela.programs.charges import ZERO
from parcast_pamela_compiler.spelling import spell


def delay(seconds: Expr, names: Mapping[str, str]) -> str:
    """Return a process that takes some seconds, nothing for none."""
    return "" if seconds == ZERO else f"delay({spell(seconds, names)})"


def use(resource: str, seconds: Expr, names: Mapping[str, str]) -> str:
    """Return a process that has a resource for some seconds, nothing for none."""
    return "" if seconds == ZERO else f"use({resource}, {spell(seconds, names)})"


def seq(variable: str, start: Expr, stop: Expr, names: Mapping[str, str]) -> str:
    """Return the head of a loop from ``start`` to before ``stop``."""
    if isinstance(stop, Num) and isinstance(stop.value, int):
        last: Expr = Num(stop.value - 1)
    else:
        last = Call("-", (stop, Num(1)))
    return f"seq ({spell(Name(variable), names)} = {spell(start, names)}, {spell(last, names)})"


def mentions_rank(lines: Sequence[str]) -> bool:
    """Return whether processes may differ in these statements."""
    return any(re.search(r"\brank\b", line) for line in lines)


def expr_of(op: Op, name: str) -> Expr:
    """Return an argument that is an expression."""
    value = op.arguments[name]
    assert not isinstance(value, str | bool | None)
    return value


def resource_of(link: str) -> str:
    """Return the name of a resource that stands for a link: ``leaf3_to_spine1``."""
    spelled = link.replace("<->", "and").replace("->", "to")
    word = re.sub(r"\W+", "_", spelled, flags=re.ASCII).strip("_")
    return word if word[:1].isalpha() and not word.isalpha() else f"link_{word}"
