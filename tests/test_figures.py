"""Every figure is made by a command that stands above it; the cheap ones are made again."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

import figures  # noqa: E402

PAGES = figures.pages()


def test_every_figure_is_shown_made_and_small() -> None:
    made = {name for page in PAGES for name, _ in figures.commands(page)}
    kept = {path.name: path.stat().st_size for path in (DOCS / "figures").iterdir()}
    shown = {
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"!\[.+\]\((?:\.\./)?figures/([\w.-]+)\)", page.read_text())
    }
    assert made == kept.keys() == shown
    assert sum(kept.values()) < 1_000_000


@pytest.mark.parametrize("name", ["bars.svg", "net.svg", "workflow.svg"])
def test_a_figure_is_the_one_its_command_makes(name: str, tmp_path: Path) -> None:
    (page,) = (page for page in PAGES if name in dict(figures.commands(page)))
    again = figures.make(page, name, tmp_path).read_text()
    assert again == (DOCS / "figures" / name).read_text()


def test_all_commands_are_understood(parcast: Callable[..., Any]) -> None:
    """Each names a command and options that there are; the expensive ones are not run."""
    for page in PAGES:
        for _, line in figures.commands(page):
            words = line.split()
            path = words[1 : 3 if words[1] in {"petri", "spmd", "pamela", "emulator"} else 2]
            help_text = parcast(*path, "--help").out
            for option in re.findall(r" (--?[a-z-]+)", line):
                assert option in help_text, line
