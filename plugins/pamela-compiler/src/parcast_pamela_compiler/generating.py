"""From a data-parallel program to the text of its model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from parcast.errors import FormulaError
from parcast.quantities import Call, Expr, Name, Num, Value, from_ast
from parcast_pamela_compiler.affine import simple
from parcast_pamela_compiler.arrays import Array
from parcast_pamela_compiler.loops import body_process
from parcast_pamela_compiler.ranges import COUNT
from parcast_pamela_compiler.scope import Scope
from parcast_pamela_compiler.source import Source, read_source
from parcast_pamela_compiler.spelling import spell, truth
from parcast_pamela_compiler.statements import EVERYONE
from parcast_pamela_compiler.writing import model_lines

_KINDS = ("block", "cyclic", "whole", "replicated")
#: Words of the language, and of the interface, that are no names of a program's
_RESERVED = frozenset(
    "par seq use delay if else skip param let resource assume import as unit extern root mult "  # noqa: SIM905  (a list of words is read as one)
    "by in mod div and or not op lmove gmove bcast reduce L floor ceil min max abs gcd lcm log2 "
    "log exp sqrt bern sum prod int real time bytes flop rate prob bool".split()
)


@attrs.define
class _Declared:
    """What stands before the statements."""

    arrays: dict[str, Array] = attrs.field(factory=dict)
    lets: dict[str, Expr] = attrs.field(factory=dict)
    least: dict[str, Value] = attrs.field(factory=dict)
    assumed: list[Expr] = attrs.field(factory=list)


def generate(text: str, where: str = "program.py") -> str:
    """Return the model of a data-parallel program, as the text of a ``.pam`` file.

    Raises
    ------
    FileError
        If something in the program has no place in a model; file and line are named.
    """
    source = read_source(text, where)
    declared = _Declared()
    parameters = {name: Name(name) for name in ("P", *source.parameters)}
    scope = Scope(source, dict(parameters), declared.arrays)
    statements = _declarations(source, scope, declared)
    process = body_process(statements, scope).whole
    source.refuse_unused()
    names = _names(source, declared)
    lines = [*_head(source, declared, names), *model_lines(process, source, names)]
    return "\n".join([*lines, ""])


def _declarations(source: Source, scope: Scope, declared: _Declared) -> list[ast.stmt]:
    """Take note of arrays, constants and assertions of the function, and return the rest."""
    statements = source.function.body
    if ast.get_docstring(source.function) is not None:
        statements = statements[1:]
    stores = [
        node.id
        for node in ast.walk(source.function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    executed: list[ast.stmt] = []
    for node in statements:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="array")) as call
            ):
                _new(name, node, source, scope)
                declared.arrays[name] = _array(name, call, scope)
            case ast.Assert(test=test):
                _assertion(test, source, scope, declared)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                not executed and stores.count(name) == 1 and _is_constant(value, scope)
            ):
                _new(name, node, source, scope)
                expr = scope.known(value)
                assert expr is not None
                declared.lets[name] = expr
                scope.names[name] = Name(name)
            case _:
                executed.append(node)
    return executed


def _is_constant(value: ast.expr, scope: Scope) -> bool:
    return not isinstance(value, ast.Constant) and scope.known(value) is not None


def _new(name: str, node: ast.stmt, source: Source, scope: Scope) -> None:
    if name in scope.arrays or name in scope.names:
        source.fail(node, f"{name!r} has a meaning already; name it otherwise")


def _array(name: str, call: ast.Call, scope: Scope) -> Array:
    source = scope.source
    if len(call.args) not in {1, 2} or call.keywords:
        source.fail(call, f"an array has extents and what each axis is: '{name} = array((N, M), "
                          "(block, whole))'")  # fmt: skip
    extents = tuple(scope.known(node) for node in _items(call.args[0]))
    for extent, node in zip(extents, _items(call.args[0]), strict=True):
        if extent is None:
            source.fail(call, f"the extent {ast.unparse(node)!r} must be of parameters alone")
    words = (
        [ast.unparse(node) for node in _items(call.args[1])] if call.args[1:] else ["replicated"]
    )
    for word in words:
        if word not in _KINDS:
            source.fail(call, f"an axis is {', '.join(_KINDS[:-1])}, or the array is replicated; "
                              f"not {word!r}")  # fmt: skip
    if words == ["replicated"]:
        words = ["whole"] * len(extents)
    if len(words) != len(extents) or "replicated" in words:
        source.fail(call, f"{name} has {len(extents)} extents; write for each whether it is block, "
                          "cyclic or whole, or 'replicated' for all")  # fmt: skip
    if sum(word != "whole" for word in words) > 1:
        source.fail(call, f"{name} is spread along several axes; the processors of the model stand "
                          "in one row: leave all axes but one whole")  # fmt: skip
    return Array(name, tuple(extent for extent in extents if extent is not None), tuple(words))


def _items(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple | ast.List) else [node]


def _assertion(test: ast.expr, source: Source, scope: Scope, declared: _Declared) -> None:
    if scope.known(test) is None:
        source.fail(test, "an assertion is of parameters alone; remove this")
    match test:
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.GtE()], comparators=[ast.Constant(value=value)]
        ) if name in source.parameters and isinstance(value, int | float):
            declared.least[name] = value
            return
    try:
        declared.assumed.append(from_ast(test))
    except FormulaError as error:
        source.fail(test, str(error))


def _names(source: Source, declared: _Declared) -> dict[str, str]:
    """Return what each name of the program is in the model."""
    program_names = {
        node.id for node in ast.walk(source.function) if isinstance(node, ast.Name)
    } | source.parameters.keys()
    names, used = {"P": "P"}, {"P", *_RESERVED}
    functions = [array.function for array in declared.arrays.values() if array.axis is not None]
    for name in [*sorted(program_names - {"P"}), *functions]:
        names[name] = _free(name, used)
    for key, wish in ((EVERYONE, "q"), ("$operation", "o"), ("$index", "x")):
        names[key] = _free(wish, used)
    for depth in range(120):
        key = f"{COUNT}{depth or ''}"
        names[key] = _free(f"turn{depth or ''}", used)
    return names


def _free(wish: str, used: set[str]) -> str:
    while wish in used:
        wish += "_"
    used.add(wish)
    return wish


def _head(source: Source, declared: _Declared, names: Mapping[str, str]) -> Iterator[str]:
    for line in source.description.splitlines():
        yield f"// {line}".rstrip()
    yield "//"
    yield f"// Made of {Path(source.where).name}; the numbers on the right are its lines."
    yield ""
    yield 'import "data-parallel"'
    for name, value in source.parameters.items():
        yield _parameter(names[name], value, declared.least.get(name))
    for condition in _assumed(declared):
        yield f"assume {truth(condition, names)}"
    for name, expr in declared.lets.items():
        yield f"let {names[name]} = {spell(expr, names)}"
    for array in declared.arrays.values():
        if array.axis is not None:
            yield _owner(array, names)


def _parameter(name: str, value: Value, least: Value | None) -> str:
    kind = "int" if isinstance(value, int) else "real"
    if least is None and value >= 0:
        least = min(value, 1) if isinstance(value, int) else 0
    bound = "" if least is None else f" >= {least!r}"
    return f"param {name} : {kind}{bound} = {value!r}"


def _assumed(declared: _Declared) -> Iterator[Expr]:
    """Yield what is assumed: that blocks are of one size, and what the program asserts."""
    conditions = list(declared.assumed)
    for array in declared.arrays.values():
        if array.axis is not None and array.kinds[array.axis] == "block":
            extent = array.extents[array.axis]
            even = Call("==", (Call("%", (extent, Name("P"))), Num(0)))
            if extent != Name("P") and even not in conditions:
                conditions.append(even)
    yield from conditions


def _owner(array: Array, names: Mapping[str, str]) -> str:
    assert array.axis is not None
    index = Name("$index")
    if array.kinds[array.axis] == "cyclic":
        owner: Expr = Call("%", (index, Name("P")))
    elif simple(array.extents[array.axis]) == Name("P"):
        owner = index
    else:
        owner = Call("floor", (Call("/", (index, array.block)),))
    return f"let {names[array.function]}({names['$index']}) = {spell(owner, names)}"
