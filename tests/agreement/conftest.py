"""How many random programs a family is held to: 40 before a change lands, 80 and more at night."""

from __future__ import annotations

import pytest

from parcast.testing import cases


@pytest.fixture(scope="session")
def programs() -> int:
    return cases(80, least=40)  # of which some tests take a thirtieth
