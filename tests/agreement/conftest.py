"""How many random programs a family is held to: 80 in CI, 30 times as many at night."""

from __future__ import annotations

import pytest

from parcast.testing import cases


@pytest.fixture(scope="session")
def programs() -> int:
    return cases(80)
