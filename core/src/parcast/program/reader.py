"""Programs from Python source, read by ``ast`` and never executed."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, NoReturn

from parcast.errors import FileError, FormulaError, did_you_mean
from parcast.model.workload import ORIGINS, Workload
from parcast.program.source.statements import RESERVED, Reader
from parcast.program.source.tree import Tree
from parcast.program.workload import Program
from parcast.quantities.expressions import Value, deeper, evaluate, from_ast, names_in, unwarned

#: Programs nested deeper than this are refused, so that no recursion ever runs out.
_DEEPEST = 120

_SOURCE = re.compile(r"^(\w+): (.+(?:\n[ \t]+.+)*)\n?", re.MULTILINE)


def read_function(function: Callable[..., Any]) -> Workload:
    """Return the workload of a Python function, from its source (see `read_source`)."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise FileError(f"{function!r} has no source to read; give a file") from None
    if function.__name__ == "<lambda>":
        raise FileError("a lambda is no program; give a function made by 'def'")
    source = "\n" * (first - 1) + textwrap.dedent("".join(lines))  # errors name the file's lines
    return read_source(source, inspect.getsourcefile(function) or "", function.__name__)


def read_source(source: str, where: str = "program", name: str = "program") -> Workload:
    """Return the workload that a program's source describes.

    The docstring's first paragraph is the summary. At its end, ``source: ...`` may say where
    the program is from, and ``n: assumed: ...`` where the default of parameter n is.

    Raises
    ------
    FileError
        If the source is not one function in the language; file and line are named.
    """
    module = parsed(source, where)
    function = _function(module, where)
    parameters = _parameters(function.args, where)
    text = inspect.cleandoc(ast.get_docstring(module) or ast.get_docstring(function) or "")
    description, stated = _described(text, {"source", *parameters}, where)
    start = 1 if ast.get_docstring(function) is not None else 0
    reader = Reader(where, parameters)
    body = reader.program(function.body[start:])
    tree = Tree(
        name=name,
        where=where,
        description=description,
        parameters=parameters,
        body=body,
        sites=tuple(reader.sites),
        source=source,
    )
    origins = {f"parameters.{key}": text for key, text in stated.items() if key != "source"}
    data = {
        "name": name,
        "kind": "program",
        "parameters": parameters,
        "program": source.lstrip("\n"),
    }
    return Workload(
        name=name,
        kind="program",
        content=Program(tree, offloads=reader.offloads),
        parameters=parameters,
        summary=" ".join(description.partition("\n\n")[0].split()),
        source=stated.get("source", ""),
        sources=origins,
        data=data,
        where=where,
    )


def parsed(source: str, where: str) -> ast.Module:
    """Return the syntax tree of a source that is read and never run.

    Raises
    ------
    FileError
        If it is no Python, or nested too deeply.
    """
    try:
        with unwarned():
            module = ast.parse(source)
            compile(module, where, "exec")  # it finds what parsing does not; nothing is executed
    except SyntaxError as error:
        raise FileError(f"{where}:{error.lineno or 1}: this is not Python: {error.msg}") from None
    except (MemoryError, RecursionError):
        raise FileError(f"{where}: the program is nested too deeply") from None
    except ValueError as error:  # of a null byte, before Python 3.11.4
        line = 1 + source.partition("\0")[0].count("\n")
        raise FileError(f"{where}:{line}: this is not Python: {error}") from None
    if deeper(module, _DEEPEST):
        raise FileError(f"{where}: the program is nested more than {_DEEPEST} levels deep")
    return module


def _function(module: ast.Module, where: str) -> ast.FunctionDef:
    statements = module.body[ast.get_docstring(module) is not None :]
    functions = [statement for statement in statements if isinstance(statement, ast.FunctionDef)]
    wanted = "a program is one function, 'def program(rank, size, ...):'"
    for statement in statements:
        if statement not in functions[:1]:
            constant = isinstance(statement, ast.Assign | ast.AnnAssign)
            mend = "make this a parameter with a default" if constant else "remove this"
            _fail(where, statement, f"{wanted}, and nothing else beside its docstring; {mend}")
    if not functions:
        raise FileError(f"{where}: there is no function here; {wanted}")
    if functions[0].decorator_list:
        _fail(where, functions[0].decorator_list[0], "a program has no decorators; remove this")
    return functions[0]


def _parameters(arguments: ast.arguments, where: str) -> dict[str, Value]:
    names = [*arguments.posonlyargs, *arguments.args]
    if (
        [argument.arg for argument in names[:2]] != ["rank", "size"]
        or arguments.vararg
        or arguments.kwarg
    ):
        line = names[0].lineno if names else 1
        raise FileError(
            f"{where}:{line}: a program takes rank and size first, then parameters with "
            "defaults: 'def program(rank, size, n=480):'"
        )
    defaults = [None] * (len(names) - len(arguments.defaults)) + [*arguments.defaults]
    pairs = list(zip(names[2:], defaults[2:], strict=True))
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    if any(defaults[:2]):
        _fail(where, names[0], "rank and size have no default; the query gives them")
    return {argument.arg: _default(argument, default, where) for argument, default in pairs}


def _default(argument: ast.arg, default: ast.expr | None, where: str) -> Value:
    name = argument.arg
    if name in RESERVED or name in {"p", "d"}:
        _fail(where, argument, f"{name!r} has a meaning of its own; rename the parameter")
    if default is None:
        _fail(where, argument, f"parameter {name!r} needs a default: '{name}=...'")
    try:
        number = from_ast(default)
        if names := names_in(number):
            raise FormulaError(f"it cannot depend on {min(names)!r}")  # noqa: TRY301
        return evaluate(number, {})
    except FormulaError as error:
        _fail(where, argument, f"the default of {name!r} must be a number: {error}")


def _described(text: str, names: set[str], where: str) -> tuple[str, dict[str, str]]:
    """Return the docstring without its lines on sources, and these by name."""
    stated: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        name, words = match[1], " ".join(match[2].split())
        origin = words.startswith(tuple(f"{origin}:" for origin in ORIGINS))
        if origin and name not in names:
            words = f"the docstring says where {name!r} is from, which is no parameter"
            raise FileError(f"{where}: {words}.{did_you_mean(name, names)}")
        if name != "source" and not origin:
            return match[0]
        stated[name] = words
        return ""

    return _SOURCE.sub(take, text).strip(), stated


def _fail(where: str, node: ast.stmt | ast.expr | ast.arg, sentence: str) -> NoReturn:
    raise FileError(f"{where}:{node.lineno}: {sentence}")
