"""A plugin imports of parcast what the rooms export, and the kit says what else it reaches for."""

import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parcast
from parcast.testing import check_plugin, deep_imports


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Make a package of these files, by their paths."""

    def make(**files):
        folder = tmp_path / "parcast_probe"
        for name, text in {"__init__": "", **files}.items():
            path = folder / f"{name.replace('__in__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "parcast_probe", raising=False)
        return importlib.import_module("parcast_probe")

    return make


@pytest.mark.parametrize(
    "line",
    [
        "import parcast",
        "import parcast.quantities as q",
        "from parcast import Query, errors, quantities",
        "from parcast.quantities import Formula, to_base",
        "from parcast.program.matching import Columns",
        "from parcast.errors import ParcastError",
        "from parcast.html import flatten",
        "from parcast.cells import defused",
        "from parcastle.model.query import Query",
        "from .errors import Query",
    ],
)
def test_the_api_may_be_imported(plugin, line):
    assert deep_imports(plugin(solver=f"def late():\n    {line}\n")) == []


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "from parcast.cli.output import print_json",
            "imports parcast.cli.output.print_json; write 'from parcast.cli import print_json'",
        ),
        (
            "from parcast.api import Registry",
            "imports parcast.api.Registry; write 'from parcast import Registry'",
        ),
        (
            "from parcast.cli import output",
            "imports parcast.cli.output; use what parcast.cli exports: Progress, build, ",
        ),
        (
            "import parcast.files.tables as files",
            "imports parcast.files.tables; use what parcast.files exports: ASSUMED_ALIKE, DARK, ",
        ),
        ("from parcast.model import *", "imports parcast.model.*; use what parcast.model exports"),
        (
            "from parcast.program.source.tree import _private",
            "imports parcast.program.source.tree._private; use what parcast.program.source exports",
        ),
    ],
)
def test_what_is_no_api_is_named_with_its_place_and_what_to_write(plugin, line, sentence):
    probe = plugin(deeper__in__solver=f"import ast\n\ndef late():\n    {line}\n")
    (found,) = deep_imports(probe)
    assert found.startswith(f"parcast_probe/deeper/solver.py:4 {sentence}")


def test_the_kit_refuses_a_plugin_that_imports_deeply(plugin):
    hook = "from parcast import hookimpl\n\n@hookimpl\ndef parcast_solvers():\n    return ()\n"
    deep = "if False:\n    from parcast.model.query import Query\n"
    check_plugin(plugin(__init__=hook))
    with pytest.raises(AssertionError) as caught:
        check_plugin(plugin(__init__=hook, late=deep))
    assert str(caught.value) == (
        "plugin 'probe': parcast_probe/late.py:2 imports parcast.model.query.Query; "
        "write 'from parcast import Query'"
    )


def test_a_module_of_one_file_is_read_too(tmp_path, monkeypatch):
    (tmp_path / "parcast_single.py").write_text("import os, parcast.startup\n")
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = deep_imports(importlib.import_module("parcast_single"))
    assert found.startswith("parcast_single.py:1 imports parcast.startup; use what parcast exports")


@given(st.sampled_from(sorted(parcast.__all__)))
def test_all_that_parcast_exports_is_api(name):
    from parcast.testing.imports import _is_api

    assert _is_api(f"parcast.{name}")
    assert not _is_api(f"parcast.{name}.inner")
