"""Every figure is made by a command that stands above it; the cheap ones are made again."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

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


def made_again(name: str, folder: Path) -> Path:
    (page,) = (page for page in PAGES if name in dict(figures.commands(page)))
    return figures.make(page, name, folder)


@pytest.mark.parametrize("name", ["bars.svg", "terminal.svg"])
def test_a_figure_is_the_one_its_command_makes(name: str, tmp_path: Path) -> None:
    again = made_again(name, tmp_path)
    assert again.read_text() == (DOCS / "figures" / name).read_text()


def drawn(graph: Path) -> list[tuple[str | None, ...]]:
    """Return the texts of each node and edge: their places are Graphviz's, which differ."""
    groups = ET.parse(graph).iter("{http://www.w3.org/2000/svg}g")
    return sorted(
        (group.get("class"), *group.itertext()) for group in groups if group.get("class") != "graph"
    )


@pytest.mark.parametrize("name", ["net.svg", "workflow.svg"])
@pytest.mark.usefixtures("graphviz")
def test_a_graph_is_the_one_its_command_draws(name: str, tmp_path: Path) -> None:
    again = drawn(made_again(name, tmp_path))
    assert len(again) > 8
    assert again == drawn(DOCS / "figures" / name)


def test_all_commands_are_understood(parcast: Callable[..., Any]) -> None:
    """Each names a command and options that there are; the expensive ones are not run."""
    for page in PAGES:
        for _, line in figures.commands(page):
            words = line.split()
            path = words[1 : 3 if words[1] in {"petri", "spmd", "pamela", "emulator"} else 2]
            help_text = parcast(*path, "--help").out
            for option in re.findall(r" (--?[a-z-]+)", line):
                assert option in help_text, line
