"""Each room says what it exports, and has it."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import parcast

ROOMS = [found.name for found in pkgutil.walk_packages(parcast.__path__, "parcast.") if found.ispkg]


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_has_all_that_it_exports(name):
    room = importlib.import_module(name)
    for exported in getattr(room, "__all__", ()):
        assert getattr(room, exported) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = room.nothing


def test_importing_parcast_imports_nothing_heavy():
    names = ("numpy", "numba", "parcast.comparison.compare", "parcast.program", "typer")
    code = f"import sys, parcast; print(*(name for name in {names!r} if name in sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
