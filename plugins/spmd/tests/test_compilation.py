from __future__ import annotations

import platformdirs
import pytest
from numba import config

from parcast_spmd.compilation import compile_kernel


def double(value):
    return value + value


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda _: tmp_path / "parcast")
    return tmp_path


def test_cache_is_in_a_versioned_user_directory(cache):
    assert compile_kernel(double, "parcast-spmd")(2.0) == 4.0
    (directory,) = (cache / "parcast" / "kernels").iterdir()
    assert directory.name.startswith("parcast-spmd-")
    assert list(directory.rglob("*.nbi"))
    assert config.CACHE_DIR == ""


def test_a_directory_set_by_the_user_wins(cache, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(cache / "mine"))
    assert compile_kernel(double, "parcast-spmd")(2.0) == 4.0
    assert list((cache / "mine").rglob("*.nbi"))
    assert not (cache / "parcast").exists()


def test_without_a_writable_directory_there_is_no_cache(cache):
    (cache / "parcast").write_text("a file where the directory should be")
    assert compile_kernel(double, "parcast-spmd")(2.0) == 4.0
