"""The plugin keeps every promise of the conformance kit, with the core alone."""

from __future__ import annotations

import parcast_network
from parcast.testing import check_plugin


def test_the_package_conforms():
    registry = check_plugin(parcast_network)
    assert "topology" in registry.parts
