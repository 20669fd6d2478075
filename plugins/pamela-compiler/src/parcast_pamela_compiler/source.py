"""The text of a data-parallel program: its one function, its parameters and its comments."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Mapping
from typing import NoReturn

import attrs

from parcast.errors import FileError, FormulaError, did_you_mean
from parcast.program import parsed
from parcast.quantities import Expr, Value, evaluate, from_ast

#: What may be said of a statement in a comment, and about which statements
ANNOTATIONS: Mapping[str, str] = {
    "times": "a 'for' or 'while'",
    "probability": "an 'if'",
    "taken": "an 'if'",
    "reached": "an 'if'",
    "operations": "an assignment or a call",
    "owner": "an assignment to an element",
    "stride": "an assignment to an element",
}

_ANNOTATION = re.compile(r"#\s*pamela\b:?\s*(.*)")
_WANTED = "a data-parallel program is one function, 'def program(P, N=1024):'"


@attrs.frozen(eq=False)
class Source:
    """A program's text, parsed; ``annotations`` go by line."""

    where: str
    function: ast.FunctionDef
    parameters: Mapping[str, Value]
    description: str
    lines: tuple[str, ...]
    annotations: Mapping[int, Mapping[str, Expr]]
    _used: set[tuple[int, str]] = attrs.field(factory=set, init=False)

    def fail(self, node: ast.AST | int, sentence: str) -> NoReturn:
        """Raise a FileError with file and line."""
        line = node if isinstance(node, int) else getattr(node, "lineno", 1)
        raise FileError(f"{self.where}:{line}: {sentence}")

    def stated(self, node: ast.AST, name: str) -> Expr | None:
        """Return what the comment of a statement says, None without."""
        for line in range(node.lineno, _last(node) + 1):  # type: ignore[attr-defined]
            if name in self.annotations.get(line, {}):
                self._used.add((line, name))
                return self.annotations[line][name]
        return None

    def refuse_unused(self) -> None:
        """Refuse comments that say something of a statement which it cannot be said of."""
        for line, stated in self.annotations.items():
            for name in stated:
                if (line, name) not in self._used:
                    self.fail(line, f"nothing here takes {name!r}; it belongs to "
                                    f"{ANNOTATIONS[name]} that cannot do without")  # fmt: skip


def _last(node: ast.AST) -> int:
    """Return the last line of a statement's head."""
    body = getattr(node, "body", None)
    if isinstance(body, list):
        return max(int(node.lineno), int(body[0].lineno) - 1)  # type: ignore[attr-defined]
    return int(node.end_lineno)  # type: ignore[attr-defined]


def is_data_parallel(text: str) -> bool:
    """Return whether a text is a function whose first parameter is ``P``, or has ``forall``."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return any(
        isinstance(statement, ast.FunctionDef) and [a.arg for a in statement.args.args[:1]] == ["P"]
        for statement in module.body
    ) or any(isinstance(node, ast.Name) and node.id == "forall" for node in ast.walk(module))


def read_source(text: str, where: str = "program.py") -> Source:
    """Return the program in a text.

    Raises
    ------
    FileError
        If it is not one function of P and of parameters with defaults; file and line are named.
    """
    module = parsed(text, where)
    function = _function(module, where)
    return Source(
        where=where,
        function=function,
        parameters=_parameters(function.args, where),
        description=inspect.cleandoc(
            ast.get_docstring(module) or ast.get_docstring(function) or function.name
        ),
        lines=tuple(text.splitlines()),
        annotations=_annotations(text, where),
    )


def _function(module: ast.Module, where: str) -> ast.FunctionDef:
    statements = module.body[ast.get_docstring(module) is not None :]
    functions = [statement for statement in statements if isinstance(statement, ast.FunctionDef)]
    for statement in statements:
        if statement not in functions[:1]:
            raise FileError(f"{where}:{statement.lineno}: {_WANTED}, and nothing else beside its "
                            "docstring; remove this")  # fmt: skip
    if not functions:
        raise FileError(f"{where}: there is no function here; {_WANTED}")
    if functions[0].decorator_list:
        line = functions[0].decorator_list[0].lineno
        raise FileError(f"{where}:{line}: a program has no decorators; remove this")
    return functions[0]


def _parameters(arguments: ast.arguments, where: str) -> dict[str, Value]:
    names = [*arguments.posonlyargs, *arguments.args]
    plain = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
    if not plain or [argument.arg for argument in names[:1]] != ["P"]:
        line = names[0].lineno if names else 1
        raise FileError(f"{where}:{line}: a data-parallel program takes P, the number of "
                        "processors, first, then parameters with defaults: "
                        "'def program(P, N=1024):'")  # fmt: skip
    defaults = [None] * (len(names) - len(arguments.defaults)) + [*arguments.defaults]
    if defaults[0] is not None:
        raise FileError(f"{where}:{names[0].lineno}: P has no default; who evaluates the model "
                        "gives it")  # fmt: skip
    return {
        argument.arg: _default(argument, default, where)
        for argument, default in zip(names[1:], defaults[1:], strict=True)
    }


def _default(argument: ast.arg, default: ast.expr | None, where: str) -> Value:
    at = f"{where}:{argument.lineno}"
    if default is None:
        raise FileError(f"{at}: parameter {argument.arg!r} needs a default: '{argument.arg}=...'")
    try:
        return evaluate(from_ast(default), {})
    except FormulaError as error:
        problem = f"the default of {argument.arg!r} must be a number"
        raise FileError(f"{at}: {problem}: {error}") from None


def _annotations(text: str, where: str) -> dict[int, dict[str, Expr]]:
    """Return what comments ``# pamela: name = value, ...`` say, by line."""
    by_line: dict[int, dict[str, Expr]] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and (comment := _ANNOTATION.fullmatch(token.string)):
            at = f"{where}:{token.start[0]}"
            by_line[token.start[0]] = dict(_settings(comment[1], at))
    return by_line


def _settings(text: str, at: str) -> list[tuple[str, Expr]]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or call.args or not call.keywords:
        raise FileError(f"{at}: after 'pamela:' stand settings such as 'probability = 0.3', "
                        f"not {text!r}")  # fmt: skip
    settings = []
    for keyword in call.keywords:
        name = str(keyword.arg)
        if name not in ANNOTATIONS:
            hint = did_you_mean(name, ANNOTATIONS) or f" Known: {', '.join(ANNOTATIONS)}."
            raise FileError(f"{at}: a comment cannot state {name!r}.{hint}")
        try:
            settings.append((name, from_ast(keyword.value)))
        except FormulaError as error:
            raise FileError(f"{at}: {name}: {error}") from None
    return settings
