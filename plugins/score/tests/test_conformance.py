"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import parcast_score
from parcast.testing import check_plugin


def test_the_package_conforms() -> None:
    registry = check_plugin(parcast_score)
    assert {"clouds", "sailor", "selene", "mlperf-training"} <= registry.measurements.keys()
    assert {
        "extra-p",
        "ideal",
        "last-value",
        "power-law",
        "work-line",
    } == registry.predictors.keys()
