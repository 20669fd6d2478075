"""Expressions of programs in the words of PAMELA, with no more parentheses than they need."""

from __future__ import annotations

from collections.abc import Mapping

from parcast.errors import UnsupportedError
from parcast.quantities import Call, Expr, Name, Num

_SUM, _TERM, _UNARY, _ATOM = 5, 6, 7, 9
#: Each operator's word, how tightly it binds, and how tightly its operands must
_INFIX = {
    "+": ("+", _SUM, _SUM, _TERM),
    "-": ("-", _SUM, _SUM, _TERM),
    "*": ("*", _TERM, _TERM, _UNARY),
    "/": ("/", _TERM, _TERM, _UNARY),
    "//": ("div", _TERM, _TERM, _UNARY),
    "%": ("mod", _TERM, _TERM, _UNARY),
    "**": ("^", 8, _ATOM, _UNARY),
}
_BITS = frozenset({"^", "&", "|", "~"})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_TRUTHS = _COMPARISONS | {"and", "or", "not"}

Text = tuple[str, int]  #: and how tightly it binds


def spell(expr: Expr, names: Mapping[str, str]) -> str:
    """Return the text of a number; ``names`` says what some names are called in the model.

    Raises
    ------
    UnsupportedError
        If ``and``, ``or`` or ``not`` of numbers is used as a number.
    """
    return _number(expr, names)[0]


def without_word(expr: Expr) -> str:
    """Return an operator of an expression, on bits, that has no word in PAMELA; or nothing."""
    if not isinstance(expr, Call):
        return ""
    return expr.f if expr.f in _BITS else next(filter(None, map(without_word, expr.args)), "")


def truth(expr: Expr, names: Mapping[str, str]) -> str:
    """Return the text of a condition; a number is true where it is not 0."""
    return _truth(expr, names)[0]


def _number(expr: Expr, names: Mapping[str, str]) -> Text:
    match expr:
        case Num(value=value):
            return repr(value), _ATOM if value >= 0 else _UNARY
        case Name(id=name):
            return names.get(name, name), _ATOM
        case Call(f="if", args=(test, then, otherwise)):
            arms = f"{spell(then, names)} : {spell(otherwise, names)}"
            return f"{_within(_truth(test, names), 1)} ? {arms}", 0
        case Call(f=f) if f in _TRUTHS:
            if not _is_truth(expr):
                raise UnsupportedError(
                    f"line {expr.line}: {f!r} of numbers is one of them in Python and a truth in "
                    "PAMELA; write a comparison"
                )
            return _truth(expr, names)
        case Call(f="neg", args=(operand,)):
            return f"-{_within(_number(operand, names), _UNARY)}", _UNARY
        case Call(f="pos", args=(operand,)):
            return _number(operand, names)
        case Call(f="isqrt", args=(operand,)):
            return f"floor(sqrt({spell(operand, names)}))", _ATOM
        case Call(f="<<" | ">>" as sign, args=(left, right)):  # what both do to whole numbers
            power = Call("**", (Num(2), right), expr.line)
            return _number(Call("*" if sign == "<<" else "//", (left, power), expr.line), names)
        case Call(f=f) if f in _BITS:
            raise UnsupportedError(
                f"line {expr.line}: PAMELA has no word for {f!r} on the bits of whole numbers; "
                "write it with //, % and **"
            )
        case Call(f=f, args=(left, right)) if f in _INFIX:
            word, level, before, after = _INFIX[f]
            sides = _within(_number(left, names), before), _within(_number(right, names), after)
            return f"{sides[0]}{_sign(word)}{sides[1]}", level
        case Call(f=f, args=args):
            return f"{f}({', '.join(spell(arg, names) for arg in args)})", _ATOM
    raise TypeError(expr)


def _truth(expr: Expr, names: Mapping[str, str]) -> Text:
    match expr:
        case Call(f="and" | "or" as word, args=args):
            level = 2 if word == "and" else 1
            return f" {word} ".join(_within(_truth(arg, names), level + 1) for arg in args), level
        case Call(f="not", args=(operand,)):
            return f"not {_within(_truth(operand, names), 3)}", 3
        case Call(f=f, args=(left, right)) if f in _COMPARISONS:
            sides = [_within(_number(side, names), _SUM) for side in (left, right)]
            return f"{sides[0]} {f} {sides[1]}", 4
    return f"{_within(_number(expr, names), _SUM)} != 0", 4


def _within(text: Text, level: int) -> str:
    return text[0] if text[1] >= level else f"({text[0]})"


def _sign(word: str) -> str:
    return word if word in {"*", "/", "^"} else f" {word} "


def _is_truth(expr: Expr) -> bool:
    return isinstance(expr, Call) and (
        expr.f in _COMPARISONS or (expr.f in _TRUTHS and all(map(_is_truth, expr.args)))
    )
