"""The kernel cache: a versioned directory of the user's, or none."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numba
import pytest

from parcast.plugins import compile_kernel, is_cached, kernels
from parcast.plugins.kernels import kernel_cache


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
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal, raising=False)
        kernels._say_once.cache_clear()
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
    kernels._say_once.cache_clear()
    compile_kernel(plus, "parcast", sources)
    assert capsys.readouterr().err == ""


def test_what_another_checkout_compiled_is_not_cached(empty_cache: Path, tmp_path: Path) -> None:
    own, other = Path(__file__), tmp_path / Path(__file__).name
    other.write_bytes(own.read_bytes())
    compile_kernel(plus, "parcast")(1, 2)
    assert is_cached("test_kernel_cache.plus", "parcast", (own,))
    assert not is_cached("test_kernel_cache.plus", "parcast", (other,))
