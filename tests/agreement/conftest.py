"""How many random programs a family is held to: 300 in CI, more at night (``.ci/nightly``)."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session")
def programs() -> int:
    return int(os.environ.get("PARCAST_PROGRAMS", "300"))
