"""The kernel cache: a versioned directory of the user's, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numba
import pytest
from numba.core import event

from parcast.plugins import compile_kernel, is_cached, kernel_cache


def test_the_directory_names_distribution_and_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    directory = kernel_cache("parcast")
    assert directory is not None
    assert directory.is_dir()
    assert directory.name == f"parcast-{version('parcast')}"
    assert directory.is_relative_to(tmp_path)


def test_where_nothing_can_be_written_there_is_no_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "parcast").write_text("a file where the directory would be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel_cache("parcast") is None


def plus(a, b):
    return a + b


def test_what_is_not_installed_has_no_cache() -> None:
    assert kernel_cache("parcast-not-installed") is None
    assert not is_cached("loops.total", "parcast-not-installed")


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_a_terminal_is_told_once_that_a_kernel_is_compiled(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told_once = sys.modules[compile_kernel.__module__]._say_once
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal, raising=False)
        told_once.cache_clear()
        for _ in range(2):
            compile_kernel(plus, "parcast")
        written = capsys.readouterr().err
        assert written.count("parcast warm") == int(terminal)


def test_what_is_cached_is_known_without_numba_and_not_announced(
    monkeypatch: pytest.MonkeyPatch, empty_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = (Path(__file__),)
    assert not is_cached("test_kernel_cache.plus", "parcast", sources)
    assert compile_kernel(plus, "parcast", sources)(1, 2) == 3
    assert is_cached("test_kernel_cache.plus", "parcast", sources)
    assert not is_cached("test_kernel_cache.plus", "parcast")  # made of other files
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    told_once = sys.modules[compile_kernel.__module__]._say_once
    told_once.cache_clear()
    compile_kernel(plus, "parcast", sources)
    assert capsys.readouterr().err == ""


def test_what_a_kernel_calls_is_optimized_less_and_nothing_else_is(empty_cache: Path) -> None:
    levels: dict[str, int] = {}

    class Levels(event.Listener):
        def on_start(self, event):
            name = event.data["dispatcher"].py_func.__name__
            levels[name] = int(numba.config.OPT)

        def on_end(self, event):
            pass

    inner, inner_of_a_user = numba.njit(lambda a: a + 1), numba.njit(lambda a: a + 2)
    inner.py_func.__name__, inner_of_a_user.py_func.__name__ = "inner", "user's"

    def outer(a):
        return inner(a)

    def outer_of_a_user(a):
        return inner_of_a_user(a)

    usual = int(numba.config.OPT)
    kernel = compile_kernel(outer, "parcast", [Path(__file__)])
    with event.install_listener("numba:compile", Levels()):
        assert kernel(1) == 2
        assert numba.njit(outer_of_a_user)(1) == 3
    assert levels == {"outer": usual, "inner": 1, "outer_of_a_user": usual, "user's": usual}
    assert int(numba.config.OPT) == usual


CHECKOUT = {
    "costs": "HOPS = {'node': 3}\nRATES = (2.0, 4.0)\nBASE = 0\n",
    "steps": "import costs\n\n\ndef rate(level):\n    return costs.RATES[level]\n",
    "loops": """
import numba
import costs
import steps

NODE = costs.HOPS["node"]
rate = numba.njit(steps.rate)


def total(n):
    return n * NODE + rate(1) + costs.BASE
""",
}
CHANGES = {  # file, text, text instead; what total(2) is then, and how often it is loaded
    "nothing": ("loops", "", "", "10.0 1"),
    "constant": ("costs", "'node': 3", "'node': 5", "14.0 0"),
    "member of a member": ("costs", "4.0", "8.0", "14.0 0"),
    "another member": ("costs", "BASE = 0", "BASE = 1", "11.0 0"),
    "step": ("steps", "[level]", "[0]", "8.0 0"),
    "unused constant": ("steps", "import costs", "import costs\nSPARE = 1", "10.0 1"),
}
ASK = """
import sys
from parcast.plugins import compile_kernel
for folder in sys.argv[1:]:
    for name in ("costs", "steps", "loops"):
        sys.modules.pop(name, None)
    sys.path.insert(0, folder)
    import loops
    form = compile_kernel(loops.total, "parcast")
    print(form(2), sum(form.stats.cache_hits.values()))
"""


def _answers(folders: list[Path], cache: Path) -> list[str]:
    caching = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONHASHSEED": "random"}
    line = [sys.executable, "-c", ASK, *map(str, folders)]
    done = subprocess.run(line, check=True, capture_output=True, text=True, env=caching)
    return done.stdout.splitlines()


def test_another_checkout_compiles_anew_what_differs_and_nothing_else(tmp_path: Path) -> None:
    folders = [tmp_path / "checkout", *(tmp_path / name for name in CHANGES)]
    edits = [("loops", "", "", "10.0 0"), *CHANGES.values()]
    for folder, (changed, before, after, _) in zip(folders, edits, strict=True):
        folder.mkdir()
        for name, source in CHECKOUT.items():
            text = source.replace(before, after, 1) if name == changed else source
            (folder / f"{name}.py").write_text(text)
    cache, link = tmp_path / "cache", tmp_path / "link"  # as a home on another disk
    link.symlink_to(cache)
    answers = [*_answers(folders[:1], cache), *_answers(folders[1:], link)]
    expected = {folder.name: edit[-1] for folder, edit in zip(folders, edits, strict=True)}
    assert dict(zip(expected, answers, strict=True)) == expected
