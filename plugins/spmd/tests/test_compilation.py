"""What numba compiles is kept in parcast's own directory, or in the user's."""

from __future__ import annotations

import numba
import platformdirs
import pytest
from numba import config

from parcast.plugins import cached_kernels


def double(value):
    return value + value


def compiled(*sources):
    with cached_kernels(double, "parcast-spmd", sources) as (placed, cached):
        return numba.njit(placed, cache=cached)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda _: tmp_path / "parcast")
    return tmp_path


def test_cache_is_in_a_versioned_user_directory(cache):
    assert compiled()(2.0) == 4.0
    (directory,) = (cache / "parcast" / "kernels").iterdir()
    assert directory.name.startswith("parcast-spmd-")
    assert list(directory.rglob("*.nbi"))
    assert config.CACHE_DIR == ""


def test_each_state_of_the_sources_has_a_directory_of_its_own(cache):
    for number, text in enumerate(["a = 1", "a = 2"], 1):
        (cache / f"{number}.py").write_text(text)
        assert compiled(cache / f"{number}.py")(2.0) == 4.0
        (directory,) = (cache / "parcast" / "kernels").iterdir()
        assert len(list(directory.iterdir())) == number


def test_a_directory_set_by_the_user_wins(cache, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(cache / "mine"))
    assert compiled()(2.0) == 4.0
    assert list((cache / "mine").rglob("*.nbi"))
    assert not (cache / "parcast").exists()


def test_without_a_writable_directory_there_is_no_cache(cache):
    (cache / "parcast").write_text("a file where the directory should be")
    assert compiled()(2.0) == 4.0
