from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest

from parcast import Registry


@pytest.fixture
def counting(monkeypatch, tmp_path):
    """Return a registry with the counting plugin, which other processes find too."""
    here = str(Path(__file__).parent)
    monkeypatch.syspath_prepend(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PARCAST_COUNT", str(tmp_path / "count"))
    yield Registry([importlib.import_module("counting")])
    sys.modules.pop("counting", None)


@pytest.fixture
def asked(tmp_path):
    """Return a function that gives the points asked since it was last called."""
    file = tmp_path / "count"

    def read():
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines

    return read


@pytest.fixture
def grid():
    """Return a study of 2 solvers x 2 n x 3 seeds... as a mapping."""
    return {
        "name": "grid",
        "workload": {"name": "w", "parameters": {"n": 1}, "phase": [{"parallel": "n"}]},
        "machine": {"name": "m", "processor": {"rate": 1}},
        "solver": ["counts", "second"],
        "p": [1, 2, 4, 13],
        "d": [1, 3],
        "set": {"n": [1, 5]},
    }
