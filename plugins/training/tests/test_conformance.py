"""The plugin keeps every promise of the conformance kit, with the core and traces alone."""

from __future__ import annotations

import parcast_training
from parcast.testing import check_plugin


def test_the_package_conforms():
    registry = check_plugin(parcast_training)
    assert {reader.suffix for reader in registry.readers.values()} >= {".parquet", ".csv"}
