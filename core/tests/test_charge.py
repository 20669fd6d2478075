"""What a run costs: nodes, node-hours, price and energy, and which row is best."""

import pytest

from parcast.api import Registry
from parcast.model.price import charge
from parcast.model.query import Query

REGISTRY = Registry([])
WORK = REGISTRY.workload({"name": "w", "phase": [{}]})


def charged(machine, p, seconds=1800.0, mapping="block"):
    found = REGISTRY.machine({"name": "m", **machine})
    return charge(Query(workload=WORK, machine=found, p=p, mapping=mapping), seconds)


def test_a_machine_that_states_neither_price_nor_power_charges_nothing():
    assert charged({"processor": {"rate": 1}}, 4) is None


@pytest.mark.parametrize(
    ("mapping", "nodes", "used"),
    [
        ("block", {"cores": 4}, 3),
        ("cyclic", {"cores": 4}, 3),
        ("cyclic", {"cores": 4, "count": 8}, 8),
        ("block", {"cores": 4, "count": 2, "oversubscribe": True}, 2),
        ((0, 0, 5, 5, 5, 0, 0, 0, 0, 5), {"cores": 8}, 2),
    ],
)
def test_whole_nodes_are_charged_for_the_time(mapping, nodes, used):
    found = charged({"nodes": nodes, "cost": {"price": "3 USD/h"}}, 10, mapping=mapping)
    hours = used / 2
    assert found == {"nodes": used, "node_hours": hours, "price": 3 * hours, "currency": "USD"}


def test_energy_is_that_of_each_node_in_use():
    groups = [{"count": 2, "power": "100 W"}, {"count": 1}]
    machine = {"nodes": {"count": 9, "groups": groups}, "cost": {"power": 10}}
    assert charged(machine, 5, 1.0)["energy"] == 100 + 100 + 10 + 10 + 10
    assert charged(machine, 1, 1.0)["energy"] == 100
    assert charged(machine, 3, 1.0, mapping=(1, 2, 8))["energy"] == 100 + 10 + 10
    assert "currency" not in charged(machine, 1)


def test_energy_is_unknown_where_a_nodes_power_is():
    groups = [{"count": 1, "power": 100}, {"count": 1}]
    found = charged({"nodes": {"groups": groups}, "cost": {"price": 1}}, 2)
    assert "energy" not in found
    assert found["currency"] == ""


def test_many_nodes_take_no_time_to_charge():
    found = charged({"nodes": {"groups": [{"count": 10**14}]}, "cost": {"power": 1}}, 10**14, 1.0)
    assert found["energy"] == 1e14
