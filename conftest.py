"""How all properties are tested, whatever else the host does, and what tests need of it."""

from __future__ import annotations

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

# Examples differ widely in cost, and the host may be busy
settings.register_profile("parcast", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("parcast")


@pytest.fixture(scope="session")
def graphviz() -> None:
    """Skip where there is no Graphviz to draw a graph."""
    if shutil.which("dot") is None:
        assert not os.environ.get("CI"), "CI installs graphviz"
        pytest.skip("needs Graphviz's program dot")
