"""Sums of whole multiples: subscripts and bounds as simple as they can be, and their slopes."""

from __future__ import annotations

from collections.abc import Mapping

from parcast.quantities import Call, Expr, Name, Num, names_in

ZERO, ONE = Num(0), Num(1)


def substitute(expr: Expr, names: Mapping[str, Expr]) -> Expr:
    """Return an expression with names replaced."""
    match expr:
        case Name(id=name):
            return names.get(name, expr)
        case Call(f=f, args=args):
            return Call(f, tuple(substitute(argument, names) for argument in args), expr.line)
    return expr


def simple(expr: Expr) -> Expr:
    """Return an expression with its sums collected; what is no sum stays as it is."""
    return _rebuilt(_terms(expr))


def plus(*parts: Expr) -> Expr:
    """Return a sum, collected."""
    total: dict[Expr, int] = {}
    for part in parts:
        for term, factor in _terms(part).items():
            total[term] = total.get(term, 0) + factor
    return _rebuilt(total)


def minus(left: Expr, right: Expr) -> Expr:
    """Return a difference, collected."""
    return plus(left, Call("neg", (right,)))


def constant(expr: Expr) -> int | None:
    """Return the whole number that an expression is, None if it is none."""
    terms = {term: factor for term, factor in _terms(expr).items() if factor}
    if not terms:
        return 0
    return terms[ONE] if terms.keys() == {ONE} else None


def slope(expr: Expr, variable: str) -> Expr | None:
    """Return by how much an expression grows with a variable, None if that is not constant."""
    if variable not in names_in(expr):
        return ZERO
    match expr:
        case Name():
            return ONE
        case Call(f="neg", args=(operand,)):
            growth = slope(operand, variable)
            return None if growth is None else times(Num(-1), growth)
        case Call(f="+" | "-" as sign, args=(left, right)):
            left_slope, right_slope = slope(left, variable), slope(right, variable)
            if left_slope is None or right_slope is None:
                return None
            return plus(left_slope, right_slope) if sign == "+" else minus(left_slope, right_slope)
        case Call(f="*", args=(left, right)):
            if variable in names_in(left):
                left, right = right, left
            growth = slope(right, variable)
            return None if growth is None or variable in names_in(left) else times(left, growth)
    return None


def times(left: Expr, right: Expr) -> Expr:
    """Return a product, without factors of 1 and 0."""
    for first, second in ((left, right), (right, left)):
        factor = constant(first)
        if factor is not None:
            return _rebuilt({term: factor * n for term, n in _terms(second).items()})
    return Call("*", (left, right))


def _terms(expr: Expr) -> dict[Expr, int]:
    """Return the terms of a sum and the whole factors before them; that of 1 is the constant."""
    match expr:
        case Num(value=int() as value):
            return {ONE: value}
        case Call(f="neg", args=(operand,)):
            return {term: -factor for term, factor in _terms(operand).items()}
        case Call(f="pos", args=(operand,)):
            return _terms(operand)
        case Call(f="+" | "-" as sign, args=(left, right)):
            total = _terms(left)
            for term, factor in _terms(right).items():
                total[term] = total.get(term, 0) + (factor if sign == "+" else -factor)
            return total
        case Call(f="*", args=(left, right)):
            for first, second in ((left, right), (right, left)):
                if (by := constant(first)) is not None:
                    return {term: by * n for term, n in _terms(second).items()}
    return {expr: 1}


def _rebuilt(terms: Mapping[Expr, int]) -> Expr:
    total: Expr | None = None
    ordered = sorted(terms.items(), key=lambda pair: (pair[0] == ONE, pair[1] < 0))
    for term, factor in ordered:
        if factor == 0:
            continue
        size = abs(factor)
        product = Num(size) if term == ONE else term if size == 1 else Call("*", (Num(size), term))
        if total is None:
            total = (
                product if factor > 0 else Num(-size) if term == ONE else Call("neg", (product,))
            )
        else:
            total = Call("+" if factor > 0 else "-", (total, product))
    return ZERO if total is None else total
