from __future__ import annotations

import parcast_logp
import pytest

from parcast import Query
from parcast.analysis.advice import advise
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
    prediction = registry.predict(WORKLOAD, MACHINE, "logp", p=4)
    assert prediction.time == pytest.approx(3 * (2 * (100e-6 + 20e-6 + 8e-6) + 10e-6))
    assert prediction.parts.communication == pytest.approx(3 * 2 * 28e-6)


def test_overlapping_io_is_refused() -> None:
    registry = check_plugin(parcast_logp)
    prediction = registry.predict({"name": "a", "phase": [{"io": "async"}]}, MACHINE, "logp")
    assert prediction.status.value == "refused"
    assert "overlaps" in prediction.message


def test_advice_asks_what_states_to_be_cheap() -> None:
    registry = check_plugin(parcast_logp)
    (advice,) = advise(registry, WORKLOAD, MACHINE, p=4)
    assert (advice.was_asked, advice.cost) == (True, 20e-6)
    assert (advice.satisfied, advice.departures) == (("nothing ever waits",), ())
    shared = {**MACHINE, "network": {**MACHINE["network"], "contention": "bus"}}
    (advice,) = advise(registry, WORKLOAD, shared, p=4)
    assert advice.departures == (
        "assumes that nothing ever waits, but here messages share the network",
    )


@pytest.mark.parametrize(
    "path",
    ["processor.rate", "network.startup", "network.overhead", "network.bandwidth",
     "storage.startup", "storage.bandwidth"],
)  # fmt: skip
def test_a_derivative_is_the_limit_of_differences(path: str) -> None:
    registry = check_plugin(parcast_logp)
    part, field = path.split(".")
    value = registry.machine(MACHINE).need(path, "this test")
    step = 1e-4 * (value or 1e-3)

    def query(changed: float) -> Query:
        machine = {**MACHINE, part: {**MACHINE[part], field: changed}}
        return Query(
            workload=registry.workload(WORKLOAD), machine=registry.machine(machine), p=4, d=2
        )

    solver = registry.solver("logp")
    above, below = (solver.solve(query(value + sign * step)).time for sign in (1, -1 * (value > 0)))
    wide = 2 * step if value else step
    derivatives = solver.derivatives(query(value), [path, "n"])
    assert derivatives.keys() == {path}
    assert derivatives[path] == pytest.approx((above - below) / wide, rel=1e-6)


def test_what_the_time_does_not_depend_on_has_the_derivative_0() -> None:
    registry = check_plugin(parcast_logp)
    workload = registry.workload({"name": "a", "phase": [{"parallel": 4}]})
    query = Query(workload=workload, machine=registry.machine(MACHINE), p=4)
    assert registry.solver("logp").derivatives(query, ["network.startup"]) == {
        "network.startup": 0.0
    }
