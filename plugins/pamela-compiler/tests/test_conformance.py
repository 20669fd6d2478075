"""The compiler works alone with the core: every shipped program becomes a model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parcast_pamela_compiler
from parcast_pamela_compiler.generating import generate
from parcast_pamela_compiler.source import is_data_parallel

SOURCES = sorted((Path(parcast_pamela_compiler.__file__).parent / "sources").glob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_a_shipped_program_becomes_a_model(path):
    text = path.read_text()
    assert is_data_parallel(text)
    model = generate(text, path.name)
    assert f"Made of {path.name}" in model
    assert re.search(r"(?m)^L = \{$", model)
