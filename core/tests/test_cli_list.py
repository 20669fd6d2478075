"""What the commands show of plugins: a bad one costs its own line only."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parcast import Registry, Resource, hookimpl
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
    good.write_text('name = "good"\nsummary = "Fine."\n[processor]\nrate = 1\n')
    bad.write_text('name = "bad"\n[processor]\nrate = "1 Mb/s"\n')
    work.write_text("[[phase]]\ncycles = -1\n")
    module = plugin(
        parcast_machines=lambda: [Resource("good", good), Resource("bad", bad)],
        parcast_workloads=lambda: [Resource("work", work)],
    )
    assert run(monkeypatch, module, "list") == 0
    shown = capsys.readouterr().out
    assert "good      Fine." in shown
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
