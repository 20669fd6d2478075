"""How Sphinx makes the pages; the reference of commands is written anew each time."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ["COLUMNS"] = "90"

project, author, release = "parcast", "the parcast developers", metadata.version("parcast")
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"parcast {release}"
exclude_patterns = ["_build", "examples", "notebooks"]
myst_heading_anchors = 3
suppress_warnings = [
    "misc.highlighting_failure",  # tables by commas have no colors
    "myst.xref_missing",  # links to folders, which the repository shows
]


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, those with commands below them first."""
    yield path
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(below, (*path, name))


def _help(path: tuple[str, ...]) -> str:
    from parcast.cli import main

    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        assert main([*path, "--help"]) == 0
    return shown.getvalue().strip()


def reference() -> str:
    """Return the page of all commands that are installed."""
    import typer

    from parcast import Registry
    from parcast.cli import build

    lines = ["# Commands", "", "What each says with `--help`.", ""]
    for path in _commands(typer.main.get_command(build(Registry())), ()):
        lines += [f"## {' '.join(('parcast', *path))}", "", "```text", _help(path), "```", ""]
    return "\n".join(lines)


def setup(app: Any) -> None:
    """Write the reference before pages are read."""
    (Path(app.srcdir) / "commands.md").write_text(reference(), encoding="utf-8")
