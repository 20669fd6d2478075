"""The documentation of plugins is whole, and its examples are the packages' own lines."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import parcast
from parcast import errors, testing
from parcast.plugins.hookspecs import Specs
from parcast.program.reader import read_source

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "plugins.md").read_text()
EXAMPLES = ROOT / "docs" / "examples"
HOOKS = {name: spec for name, spec in vars(Specs).items() if name.startswith("parcast_")}
SOURCES = "\n".join(
    path.read_text()
    for path in EXAMPLES.rglob("*.py")
    if "tests" not in path.relative_to(EXAMPLES).parts
)
TESTS = "\n".join(path.read_text() for path in EXAMPLES.rglob("test_*.py"))


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_has_a_heading_with_its_signature(hook: str) -> None:
    signature = inspect.signature(HOOKS[hook])
    arguments = ", ".join(
        f"{name}: {argument.annotation}"
        for name, argument in signature.parameters.items()
        if name != "self"
    )
    assert f"\n### {hook}({arguments}) -> {signature.return_annotation}\n" in PAGE


def test_no_heading_names_a_hook_that_is_not() -> None:
    assert set(re.findall(r"^### (\w+)\(", PAGE, re.MULTILINE)) == HOOKS.keys()


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_used_and_tested_by_an_example(hook: str) -> None:
    assert f"@hookimpl\ndef {hook}(" in SOURCES
    assert re.search(rf"^def test_{hook}", TESTS, re.MULTILINE)


@pytest.mark.parametrize("hook", HOOKS)
def test_the_lines_of_a_hookspec_are_an_example_of_the_packages(hook: str) -> None:
    for line in re.findall(r"^ +(yield [A-Z].*)$", HOOKS[hook].__doc__, re.MULTILINE):
        assert line in SOURCES


def test_the_page_shows_lines_of_the_packages() -> None:
    for line in re.findall(r"^    (yield .*)$", PAGE, re.MULTILINE):
        assert line in SOURCES


def test_the_page_shows_the_class_of_an_example() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (shown,) = [block for block in blocks if "class Job" in block]
    assert shown in SOURCES


def test_every_error_on_the_page_exists() -> None:
    named = set(re.findall(r"\b([A-Z]\w+Error)\b", PAGE)) - {"AssertionError"}
    assert named == {name for name in vars(errors) if re.fullmatch(r"[A-Z]\w+Error", name)}


def test_every_name_of_the_kit_on_the_page_exists() -> None:
    for name in re.findall(r"`((?:check|standard)_\w+)\(", PAGE):
        assert hasattr(testing, name)
    public = {name for name in vars(testing) if name.startswith(("check_", "standard_"))}
    assert public == set(re.findall(r"`((?:check|standard)_\w+)\(", PAGE))


def test_every_record_on_the_page_is_public() -> None:
    for name in re.findall(r"Iterable\[(.+)\]", PAGE):
        assert all(hasattr(parcast, one) for one in name.split(" | "))


def test_every_link_leads_somewhere() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page}: {target}"


def _programs(page: Path) -> list[str]:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "def program(" in block]


@pytest.mark.parametrize("page", ["files.md", "program.md"])
def test_every_program_on_a_page_is_one(page: str) -> None:
    machine = parcast.Registry([]).machine({"name": "any", "network": {"startup": 1}})
    shown = _programs(ROOT / "docs" / page)
    assert shown
    for source in shown:
        workload = read_source(source, page)
        asked = parcast.Query(workload=workload, machine=machine, p=6)
        workload.content.check(asked)
