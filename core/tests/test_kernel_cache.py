"""The kernel cache: a versioned directory of the user's, or none."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

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


def test_a_terminal_is_told_once_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for name in ("one", "other"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
        kernel_cache("parcast")
        assert capsys.readouterr().err == "parcast compiles its kernels, once; this takes seconds\n"
        kernel_cache("parcast")
        assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "piped"))
    kernel_cache("parcast")
    assert capsys.readouterr().err == ""
