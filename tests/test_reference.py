"""The written reference has everything that is installed, and nothing else."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import attrs
import pytest
import typer

from parcast import Registry
from parcast.cli import build
from parcast.cli.keys import keys
from parcast.plugins.entries import load
from parcast.plugins.hookspecs import Specs

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry()


@pytest.fixture(scope="module")
def written() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parcast_reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sections(lines: list[str], level: str) -> dict[str, str]:
    """Return the text below each heading of a level, by the heading."""
    parts = re.split(rf"^{level} (.+)$", "\n".join(lines), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def commands(command, path):
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


def test_every_command_and_option_is_there(registry: Registry, written: ModuleType) -> None:
    shown = sections(list(written.commands(registry)), "##")
    found = dict(commands(typer.main.get_command(build(registry)), "parcast"))
    assert shown.keys() == found.keys()
    for path, command in found.items():
        for parameter in command.params:
            options = parameter.opts if parameter.param_type_name == "option" else ()
            if not getattr(parameter, "hidden", False):
                assert all(one in shown[path] for one in options), (path, parameter.name)


def test_everything_that_is_registered_is_there(registry: Registry, written: ModuleType) -> None:
    page = sections(list(written.reference(registry)), "##")
    below = {title: sections(text.splitlines(), "###") for title, text in page.items()}
    hooks = {name for name in vars(Specs) if name.startswith("parcast_")}
    assert {name.partition("(")[0] for name in below["Hooks"]} == hooks
    assert below["Solvers"].keys() == {*registry.solvers, *registry.families}
    assert below["Kinds of workloads"].keys() == {*registry.kinds}
    assert below["Parts of machines"].keys() == {*registry.parts}
    assert below["Machines"].keys() == {*registry.machines}
    assert {name.partition(" (")[0] for name in below["Workloads"]} == {*registry.workloads}
    for title, names in (
        ("Lowerings", registry.lowerings), ("Readers", registry.readers),
        ("Writers", registry.writers), ("Plugins", [one.name for one in registry.plugins]),
    ):  # fmt: skip
        rows = re.findall(r"^\| `?([^|`]+?)`? \|", page[title], re.MULTILINE)
        assert set(rows[1:]) == {*names}, title


def test_every_option_and_key_is_there_in_words(registry: Registry, written: ModuleType) -> None:
    text = "\n".join(written.reference(registry))
    for name, entry in registry.solvers.items():
        for field in attrs.fields(load(entry.options)) if entry.options else ():
            assert f"| `{name}.{field.name}` | " in text
    for entry in registry.parts.values():
        for field in attrs.fields(load(entry.target)):
            assert f"`{field.name}" in text, (entry.name, field.name)
    for entry in (*registry.parts.values(), *registry.kinds.values()):
        if not getattr(entry, "suffix", None):
            unsaid = [key.name for key in keys(load(entry.target)) if not key.meaning]
            assert not unsaid, f"{entry.name}: write #: what these are: {unsaid}"
    assert not re.search(r"<class|typing\.|Unit\(|Formula\(", text)
