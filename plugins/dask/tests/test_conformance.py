"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import subprocess
import sys

import pytest

import parcast_dask
from parcast import ParcastError, Registry
from parcast.testing import check_plugin


def test_the_package_conforms() -> None:
    check_plugin(parcast_dask)


def test_dask_is_imported_only_when_it_is_asked_for() -> None:
    code = "import sys, parcast_dask; assert not {'dask', 'distributed'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "address", ["", "host:8786", "tcp://host", "tcp://host:8786/x", "file://x:1"]
)
def test_an_address_that_is_none_is_told(address: str) -> None:
    with pytest.raises(ParcastError, match=r"give the scheduler's address, such as dask:tcp://"):
        Registry([parcast_dask]).executor(f"dask:{address}")


def test_no_scheduler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parcast_dask.connecting._SECONDS", 0.5)
    with pytest.raises(ParcastError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9 "):
        Registry([parcast_dask]).executor("dask:tcp://127.0.0.1:9")


def test_what_others_know_is_left_to_them() -> None:
    assert parcast_dask.parcast_executor("processes:2") is None
    assert parcast_dask.parcast_executor("dask") is None


def test_installed_plugins_are_found_beside_dask() -> None:
    """Dask brings importlib_metadata, whose entry points are of another class."""
    code = "import distributed, parcast; print(parcast.Registry().executor('threads:1'))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "ThreadPoolExecutor" in done.stdout
