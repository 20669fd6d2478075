"""Arithmetic expressions: parsed by ``ast``, checked against a closed list, never executed.

The same tree serves the formulas in files and the expressions of a ``Program``.
"""

from __future__ import annotations

import ast
import math
import operator
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import attrs

from parcast.errors import FormulaError, did_you_mean, shorten
from parcast.quantities.process_grids import dims

Value = int | float

#: Held while Python's filters of warnings are others.
_FILTERS = threading.Lock()

#: Integers beyond this many bits are an overflow, found before they are computed.
LARGEST_BITS = 4096

#: Formulas nested deeper than this are refused, so that no recursion ever runs out, and more
#: chained comparisons within another, each of which doubles what is computed.
DEEPEST, MOST_CHAINS = 100, 8


@attrs.frozen
class Num:
    """A literal number."""

    value: Value
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Name:
    """A variable or parameter."""

    id: str
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


@attrs.frozen
class Call:
    """An operator or a function, by name, on its arguments.

    Operators go by their sign (``+``, ``neg``, ``not``); ``if`` takes test, then, else.
    """

    f: str
    args: tuple[Expr, ...]
    line: int = attrs.field(default=1, eq=False)
    col: int = attrs.field(default=0, eq=False)


Expr = Num | Name | Call

#: The sign of each of Python's arithmetic operators.
BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
#: What to write for Python's functions that are not among `FUNCTIONS`.
_INSTEAD = {
    "int": "floor(x)",
    "round": "floor(x + 0.5)",
    "float": "1.0 * x",
    "pow": "x ** y",
    "log": "log2(x)",
    "sum": "a loop with +=",
    "len": "a parameter",
}
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Not: "not", ast.Invert: "~"}
#: Operators on the bits of whole numbers.
BITWISE = frozenset({"^", "&", "|", "<<", ">>", "~"})


def power(base: Value, exponent: Value) -> Value:
    """Return ``base ** exponent`` as Python gives it, refusing complex and endless results."""
    whole = isinstance(base, int) and isinstance(exponent, int)
    if whole and abs(base) > 1 and int(base).bit_length() * exponent > LARGEST_BITS:
        raise OverflowError
    result = base**exponent
    if isinstance(result, complex):
        msg = f"{base} to the power {exponent} is not a real number"
        raise FormulaError(msg)
    return result


def _bitwise(sign: str, compute: Callable[..., Value]) -> Callable[..., Value]:
    """Return an operator on bits that refuses other numbers than whole ones, in a sentence."""

    def checked(*args: Value) -> Value:
        for arg in args:
            if not isinstance(arg, int):
                hint = "; write // for a whole quotient, or floor(x)"
                raise FormulaError(f"'{sign}' takes whole numbers, and {arg!r} is none{hint}")
        if sign in {"<<", ">>"}:
            number, by = args
            if by < 0:
                raise FormulaError(f"'{sign}' shifts by 0 or more bits, not by {shorten(str(by))}")
            if sign == "<<" and number and by + int(number).bit_length() > LARGEST_BITS:
                raise FormulaError(f"'<<' gives more than {LARGEST_BITS:,} bits; shift by fewer")
        return compute(*args)

    return checked


#: Functions by name: least and most number of arguments, and what Python computes.
FUNCTIONS: Mapping[str, tuple[int, int | None, Callable[..., Value]]] = {
    "sqrt": (1, 1, math.sqrt),
    "isqrt": (1, 1, math.isqrt),
    "log2": (1, 1, math.log2),
    "floor": (1, 1, math.floor),
    "ceil": (1, 1, math.ceil),
    "abs": (1, 1, abs),
    "min": (2, None, min),
    "max": (2, None, max),
    "dims": (3, 3, dims),
}

#: What each strict operator computes; ``and``, ``or`` and ``if`` choose their arms instead.
OPERATORS: Mapping[str, Callable[..., Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": power,
    "neg": operator.neg,
    "pos": operator.pos,
    "not": operator.not_,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "^": _bitwise("^", operator.xor),
    "&": _bitwise("&", operator.and_),
    "|": _bitwise("|", operator.or_),
    "<<": _bitwise("<<", operator.lshift),
    ">>": _bitwise(">>", operator.rshift),
    "~": _bitwise("~", operator.invert),
}

#: What is computed of all arguments.
_STRICT = {**OPERATORS, **{name: function for name, (_, _, function) in FUNCTIONS.items()}}


def parse(text: str) -> Expr:
    """Return the expression that ``text`` spells.

    Raises
    ------
    FormulaError
        If it is no expression or uses anything but numbers, names, arithmetic,
        comparisons, conditionals and the functions of `FUNCTIONS`.
    """
    try:
        with unwarned():  # what is odd in Python is an error below
            tree = ast.parse(text.strip(), mode="eval")
    except (MemoryError, RecursionError):
        raise FormulaError("the formula is too long or nested too deeply") from None
    except (SyntaxError, ValueError):
        raise FormulaError(f"{shorten(text)!r} is not a formula") from None
    if deeper(tree, DEEPEST):
        raise FormulaError(f"the formula is nested more than {DEEPEST} levels deep")
    if any(isinstance(node, ast.BitXor) for node in ast.walk(tree)):  # as Python, programs have it
        raise FormulaError("'^' is not a power here; write '**'")
    return from_ast(tree.body)


@contextmanager
def unwarned() -> Iterator[None]:
    """Keep back what Python finds odd in a source.

    One thread at a time: filters are of all of them, and who leaves second would put back those
    of the first, for good.
    """
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def deeper(node: ast.AST, levels: int) -> bool:
    """Tell whether a syntax tree has more levels than that below its root."""
    return levels < 0 or any(deeper(child, levels - 1) for child in ast.iter_child_nodes(node))


def from_ast(node: ast.expr) -> Expr:
    """Return the expression of a Python syntax tree (see `parse`)."""
    at = (node.lineno, node.col_offset)
    match node:
        case ast.Constant(value=int() | float() as value):
            return _finite_literal(value, at)
        case ast.Name(id=name):
            return Name(name, *at)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return Call(BINARY[type(op)], (from_ast(left), from_ast(right)), *at)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return Call(_UNARY[type(op)], (from_ast(operand),), *at)
        case ast.BoolOp(op=op, values=values):
            word = "and" if isinstance(op, ast.And) else "or"
            return Call(word, tuple(map(from_ast, values)), *at)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _comparison([left, *others], ops, at)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return Call("if", (from_ast(test), from_ast(body), from_ast(orelse)), *at)
        case ast.Call():
            return _call(node, at)
    raise FormulaError(f"{describe(node)} is not allowed in a formula")


def describe(node: ast.AST) -> str:
    """Return the name a user has for a Python construct."""
    names = {
        ast.Subscript: "a subscript ('a[i]')",
        ast.Lambda: "a lambda",
        ast.NamedExpr: "':='",
        ast.List: "a list",
        ast.Tuple: "a tuple",
        ast.Dict: "a dict",
        ast.Set: "a set",
        ast.JoinedStr: "an f-string",
        ast.ListComp: "a comprehension",
        ast.GeneratorExp: "a generator expression",
        ast.Await: "'await'",
    }
    if isinstance(node, ast.Constant):
        return f"the constant {shorten(repr(node.value))}"
    if isinstance(node, ast.Attribute):
        return repr(shorten(ast.unparse(node)))
    op: type[ast.AST] = type(getattr(node, "op", node))  # type: ignore[assignment]
    return names.get(type(node)) or ("'@'" if op is ast.MatMult else f"the construct {op.__name__}")


def _finite_literal(value: Value, at: tuple[int, int]) -> Num:
    if isinstance(value, float) and not math.isfinite(value):
        raise FormulaError("a number is too large to be finite")
    return Num(+value, *at)  # True as 1


def _comparison(terms: list[ast.expr], ops: list[ast.cmpop], at: tuple[int, int]) -> Expr:
    inner = [node for term in terms[1:-1] for node in ast.walk(term)]
    if sum(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in inner) > MOST_CHAINS:
        raise FormulaError(f"a chained comparison holds more than {MOST_CHAINS} others")
    pairs: list[Expr] = []
    for op, left, right in zip(ops, terms, terms[1:], strict=False):
        if type(op) not in _COMPARE:
            raise FormulaError("'is' and 'in' are not allowed in a formula")
        pairs.append(Call(_COMPARE[type(op)], (from_ast(left), from_ast(right)), *at))
    return pairs[0] if len(pairs) == 1 else Call("and", tuple(pairs), *at)


def _call(node: ast.Call, at: tuple[int, int]) -> Expr:
    if not isinstance(node.func, ast.Name):
        bare = getattr(node.func, "attr", "")
        hint = f"; write {bare}(...)" if bare in FUNCTIONS else ""
        raise FormulaError(f"{describe(node.func)} is not allowed in a formula{hint}")
    name = node.func.id
    if name in _INSTEAD:
        raise FormulaError(f"there is no function {name!r}; write {_INSTEAD[name]}")
    if name not in FUNCTIONS:
        hint = did_you_mean(name, FUNCTIONS) or f" Known: {', '.join(sorted(FUNCTIONS))}."
        raise FormulaError(f"there is no function {name!r}.{hint}")
    least, upper, _ = FUNCTIONS[name]
    count = len(node.args)
    if node.keywords or count < least or (upper is not None and count > upper):
        wanted = str(least) if upper == least else f"at least {least}"
        raise FormulaError(f"{name}() takes {wanted} plain argument{'s' * (wanted != '1')}")
    return Call(name, tuple(map(from_ast, node.args)), *at)


def evaluate(expr: Expr, names: Mapping[str, Value]) -> Value:
    """Return what Python gives for ``expr``; only the chosen arm of a condition is evaluated.

    Raises
    ------
    FormulaError
        For an unknown name, a division by zero, a domain error or a value that no finite
        float holds.
    """
    try:
        return _finite(_evaluate(expr, names))
    except ZeroDivisionError:
        raise FormulaError("division by zero") from None
    except OverflowError:
        raise FormulaError("the value overflows") from None
    except (ValueError, TypeError) as error:
        raise FormulaError(str(error)) from None


def _finite(value: Value) -> Value:
    if not math.isfinite(value):
        raise OverflowError
    return value


def _evaluate(expr: Expr, names: Mapping[str, Value]) -> Value:
    # by class and by name: patterns, tried one after another, take twice as long
    if isinstance(expr, Num):
        return expr.value
    if isinstance(expr, Name):
        if expr.id in names:
            return names[expr.id]
        hint = did_you_mean(expr.id, names) or f" Known: {', '.join(sorted(names))}."
        raise FormulaError(f"nothing is called {expr.id!r}.{hint}")
    if (function := _STRICT.get(expr.f)) is not None:
        return function(*[_evaluate(arg, names) for arg in expr.args])
    if expr.f == "if":
        test, then, otherwise = expr.args
        return _evaluate(then if _evaluate(test, names) else otherwise, names)
    ends = {"and": False, "or": True}[expr.f]
    for arg in expr.args:
        value = _evaluate(arg, names)
        if bool(value) == ends:
            break
    return value


def names_in(expr: Expr) -> frozenset[str]:
    """Return every name that ``expr`` reads."""
    return frozenset(name.id for name in reads(expr))


def reads(expr: Expr) -> Iterator[Name]:
    """Yield every place where ``expr`` reads a name."""
    if isinstance(expr, Name):
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from reads(arg)


def spell(expr: Expr) -> str:
    """Return Python text that `parse` reads as ``expr``, with a parenthesis round each operator."""
    match expr:
        case Num(value):
            return repr(value) if value >= 0 else f"({value!r})"
        case Name(id):
            return id
        case Call("if", (test, then, otherwise)):
            return f"({spell(then)} if {spell(test)} else {spell(otherwise)})"
        case Call("and" | "or" as word, args):
            return f"({f' {word} '.join(map(spell, args))})"
        case Call("neg" | "pos" | "not" | "~" as word, (operand,)):
            sign = {"neg": "-", "pos": "+", "not": "not ", "~": "~"}[word]
            return f"({sign}{spell(operand)})"
        case Call(f, (left, right)) if f in OPERATORS:
            return f"({spell(left)} {f} {spell(right)})"
        case Call(f, args):
            return f"{f}({', '.join(map(spell, args))})"
    raise TypeError(expr)
