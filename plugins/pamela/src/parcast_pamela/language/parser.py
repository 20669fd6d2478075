"""Text into declarations, by lark; errors have line, column and a caret."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from parcast_pamela.language.builder import build
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.positions import Position, Source
from parcast_pamela.language.tree import Declaration, depth

#: Models nested deeper than this are refused, so that no recursion ever runs out.
DEEPEST = 100

#: What the grammar calls each token, in words
_WORDS = {"NAME": "a name", "DEFNAME": "a definition", "NUMBER": "a number", "STRING": "a path"}


def parse(text: str, where: str = "model") -> tuple[list[Declaration], list[str]]:
    """Return the declarations in the text of a model, in order, and warnings.

    Raises
    ------
    ModelError
        If the text is not in the language, or nested more than 100 levels deep.
    """
    source = Source(where, text)
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(error, source) from None
    declared, warnings = build(tree, source)
    for declaration in declared:
        if depth(declaration) > DEEPEST:
            raise ModelError(
                f"this is nested more than {DEEPEST} levels deep", declaration.position
            )
    return declared, warnings


@cache
def _lark() -> Lark:
    grammar = files("parcast_pamela.language").joinpath("pamela.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True)


def _syntax_error(error: UnexpectedInput, source: Source) -> ModelError:
    lines = source.text.splitlines() or [""]
    line, column = error.line, error.column
    token = error.token if isinstance(error, UnexpectedToken) else None
    if (token is not None and token.type == "$END") or not isinstance(line, int) or line < 1:
        line, column = len(lines), len(lines[-1]) + 1
    position = Position(source, line, max(column, 1))
    if isinstance(error, UnexpectedCharacters):
        return ModelError(f"{error.char!r} cannot stand here", position)
    token_text = (
        "the end of the model" if token is None or token.type == "$END" else repr(str(token))
    )
    accepts = (error.accepts or ()) if isinstance(error, UnexpectedToken) else ()
    words = sorted(_expected_words(accepts))
    expected = f"; expected {' or '.join(words)}" if 0 < len(words) <= 6 else ""
    return ModelError(f"{token_text} cannot stand here{expected}", position)


def _expected_words(accepts: Any) -> set[str]:
    signs = {terminal.name: terminal.pattern.value for terminal in _lark().terminals}
    return {_WORDS.get(name) or repr(signs.get(name, name)) for name in accepts if name != "$END"}
