"""An MPI library, or the reason why tests of real runs are skipped; in CI there must be one."""

from __future__ import annotations

import os
from typing import Any

import pytest

from parcast import Machine, Registry, UnsupportedError
from parcast_mpi import library
from parcast_mpi.host import identity


@pytest.fixture(scope="session")
def mpi() -> library.Library:
    try:
        return library.find()
    except UnsupportedError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def registry() -> Registry:
    import parcast_mpi

    return Registry([parcast_mpi])


@pytest.fixture(scope="session")
def here() -> dict[str, Any]:
    """A machine that claims to be this host; its other numbers play no part."""
    return {
        "name": "here",
        "processor": {"rate": "10 GFLOP/s"},
        "nodes": {"count": 1, "cores": 2},
        "network": {"startup": "5 us", "bandwidth": "1 GB/s"},
        "storage": {"bandwidth": "500 MB/s"},
        "host": {"id": identity()},
    }


@pytest.fixture
def machine(registry: Registry, here: dict[str, Any]) -> Machine:
    return registry.machine(here)
