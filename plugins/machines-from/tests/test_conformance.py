"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import parcast_machines_from
from parcast.testing import check_plugin


def test_the_package_conforms() -> None:
    check_plugin(parcast_machines_from)
