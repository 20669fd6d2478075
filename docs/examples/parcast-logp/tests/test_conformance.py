from __future__ import annotations

import parcast_logp
import pytest

from parcast.testing import check_plugin, check_solver

MACHINE = {
    "name": "small",
    "processor": {"rate": "1 MFLOP/s"},
    "network": {"startup": "10 us", "bandwidth": "1 MB/s", "overhead": "5 us"},
    "storage": {"bandwidth": "2 MB/s", "disks": 2},
}
WORKLOAD = {
    "name": "ring",
    "phase": [{"cycles": 3, "bursts": 2, "parallel": 400, "messages": 1, "bytes": 8,
               "io_bytes": 40}],
}  # fmt: skip


def test_parcast_solvers() -> None:
    """Pass the kit, alone with the core."""
    registry = check_plugin(parcast_logp)
    check_solver(registry, "logp")


def test_a_cycle_adds_up() -> None:
    """3 cycles of 2 bursts of 100 us work, 20 us startup, 8 us bulk, then 10 us on 2 disks."""
    registry = check_plugin(parcast_logp)
    found = registry.predict(WORKLOAD, MACHINE, "logp", p=4)
    assert found.time == pytest.approx(3 * (2 * (100e-6 + 20e-6 + 8e-6) + 10e-6))
    assert found.parts.communication == pytest.approx(3 * 2 * 28e-6)


def test_overlapping_io_is_refused() -> None:
    registry = check_plugin(parcast_logp)
    found = registry.predict({"name": "a", "phase": [{"io": "async"}]}, MACHINE, "logp")
    assert found.status.value == "refused"
    assert "overlaps" in found.message
