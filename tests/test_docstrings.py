"""What a docstring says of arguments is said of arguments that there are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: The section of a NumPy docstring, up to the next one.
PARAMETERS = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+|\Z)", re.DOTALL)


def described(docstring: str) -> Iterator[str]:
    """Yield the names that a docstring describes as parameters."""
    for section in PARAMETERS.findall(docstring):
        for line in section.splitlines():
            if line and not line[0].isspace():
                yield from (name.strip("* ") for name in line.partition(" : ")[0].split(","))


def names(function: ast.FunctionDef) -> set[str]:
    """Return the names of a function's arguments."""
    return {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}


def stale(tree: ast.Module) -> Iterator[str]:
    """Yield each name that is described and no argument, with its line."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        makers = [method for method in methods if method.name == "__init__"]
        for function in [node] if isinstance(node, ast.FunctionDef) else makers:
            for name in described(ast.get_docstring(node) or ""):
                if name not in names(function):
                    yield f"{node.lineno}: {node.name} has no {name!r}"


def test_what_is_described_is_an_argument() -> None:
    paths = [*ROOT.glob("core/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    texts = {path: path.read_text() for path in paths}
    wrong = [
        f"{path.relative_to(ROOT)}:{line}"
        for path, text in texts.items()
        if "Parameters\n" in text
        for line in stale(ast.parse(text))
    ]
    assert len(paths) > 500
    assert not wrong


def test_a_name_that_is_gone_is_found() -> None:
    docstring = "Do.\n\n    Parameters\n    ----------\n    a, b : (n,)\n        Both.\n    "
    tree = ast.parse(f'def f(a):\n    """{docstring}"""\n')
    assert list(stale(tree)) == ["1: f has no 'b'"]
