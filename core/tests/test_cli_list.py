"""What the commands show of plugins: a bad one costs its own line only."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parcast import ParcastError, Registry, Resource, hookimpl
from parcast.cli import app as command


def plugin(**hooks: Any) -> ModuleType:
    module = ModuleType("parcast_shipping")
    for name, hook in hooks.items():
        setattr(module, name, hookimpl(hook))
    return module


def run(monkeypatch: pytest.MonkeyPatch, module: ModuleType, *arguments: str) -> int:
    monkeypatch.setattr(command, "Registry", lambda: Registry([module]))
    monkeypatch.setattr(sys, "argv", ["parcast"])
    return command.main(list(arguments))


def test_a_shipped_file_that_cannot_be_read_costs_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good, bad, work = tmp_path / "good.toml", tmp_path / "bad.toml", tmp_path / "work.toml"
    good.write_text(
        'name = "good"\ngroup = "today"\nyear = 2024\nsummary = "Fine."\n[processor]\nrate = 1\n'
    )
    bad.write_text('name = "bad"\n[processor]\nrate = "1 Mb/s"\n')
    work.write_text("[[phase]]\ncycles = -1\n")
    module = plugin(
        parcast_machines=lambda: [Resource("good", good), Resource("bad", bad)],
        parcast_workloads=lambda: [Resource("work", work)],
    )
    assert run(monkeypatch, module, "list") == 0
    shown = capsys.readouterr().out
    assert re.search(r"good +today  2024  Fine\.", shown)
    assert "'Mb/s' is not a known unit" in shown
    assert "work       ?     cannot be read" in shown


def test_a_file_error_of_the_system_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def commands(app: Any) -> None:
        @app.command()
        def lost() -> None:
            Path("/nowhere/lost").read_text()

    assert run(monkeypatch, plugin(parcast_commands=commands), "lost") == 2
    assert capsys.readouterr().err == "parcast: /nowhere/lost: No such file or directory\n"


def test_machines_are_listed_by_group(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    groups = {"a": "", "b": "papers", "c": "mine", "d": "today", "e": "storage", "f": "today"}
    for name, group in groups.items():
        (tmp_path / f"{name}.toml").write_text(f'group = "{group}"\n[processor]\nrate = 1\n')
    module = plugin(parcast_machines=lambda: [Resource(n, tmp_path / f"{n}.toml") for n in groups])
    assert run(monkeypatch, module, "list", "machines") == 0
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row[0] for row in rows if row] == ["d", "f", "e", "b", "c", "a"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('year = "2024"', "year = '2024' must be a year, such as 2024"),
        ("year = 20245", "year = 20245 must be a year"),
        ("year = true", "year = True must be a year"),
        ("group = 3", "group = 3 must be one word, such as 'today'"),
        ('group = "two words"', "group = 'two words' must be one word"),
    ],
)
def test_a_year_and_a_group_that_are_none(tmp_path: Path, line: str, sentence: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(f"{line}\n[processor]\nrate = 1\n")
    with pytest.raises(ParcastError, match=r"m\.toml: ") as error:
        Registry([]).machine(path)
    assert sentence in str(error.value)


def test_names_apart_by_blanks_are_told_to_be_one_argument(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = ModuleType("parcast_empty")
    assert run(monkeypatch, empty, "compare", "w", "m", "another") == 2
    assert "one argument, with commas" in capsys.readouterr().err
    assert run(monkeypatch, empty, "show", "w", "m") == 2
    assert "commas" not in capsys.readouterr().err
