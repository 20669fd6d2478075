"""The plugin keeps every promise of the conformance kit, with the core alone."""

from __future__ import annotations

import pytest

import parcast_simgrid
from parcast import Query
from parcast.program.reader import read_source
from parcast.testing import check_plugin, check_solver
from parcast_simgrid import playing

MACHINE = {
    "name": "fair",
    "processor": {"rate": 1},
    "network": {"startup": 2, "bandwidth": 1, "overhead": 0.5, "contention": "fair"},
    "storage": {"bandwidth": 1, "disks": 4, "layout": "cluster"},
}
SOURCES = {
    "ring": "compute(8)\nsendrecv((rank + 1) % size, 8, (rank - 1) % size)\nallreduce(8)",
    "files": "compute(8)\nwrite(16)",
    "pool": "for task in pool(range(4)):\n    compute(8)",
    "any": "if rank == 0:\n    recv(ANY)\nif rank == 1:\n    send(0, 8)",
}

needs_simgrid = pytest.mark.skipif(
    not playing.is_installed(), reason="SimGrid is not installed: parcast-simgrid[simgrid]"
)


def query_of(name, **network):
    registry = check_plugin(parcast_simgrid)
    body = SOURCES[name].replace("\n", "\n    ")
    workload = read_source(f"def program(rank, size):\n    {body}\n", f"{name}.py", name)
    machine = {**MACHINE, "network": {**MACHINE["network"], **network}}
    return registry, Query(workload=workload, machine=registry.machine(machine), p=4, d=4)


def answered(name, **network):
    registry, query = query_of(name, **network)
    rows = registry.compare(query.workload, query.machine, p=4, d=4, solvers="simgrid.flows").rows
    return rows[0]


def test_the_package_conforms():
    registry = check_plugin(parcast_simgrid)
    assert registry.solvers["simgrid.flows"].on_request


@needs_simgrid
def test_the_solver_conforms():
    registry, ring = query_of("ring")
    predictions = check_solver(registry, "simgrid.flows", [ring, query_of("files")[1]])
    assert len(predictions) == 2


@needs_simgrid
@pytest.mark.parametrize(
    ("name", "network", "message"),
    [
        ("pool", {}, "tasks of a pool go to whichever process is free"),
        ("any", {}, "any.py:3: recv(ANY) takes what comes first"),
        ("ring", {"contention": "bus"}, "network.contention = 'bus' serves messages one after"),
    ],
)
def test_what_is_not_played_is_refused(name, network, message):
    assert message in answered(name, **network).message


def test_without_simgrid_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr("parcast_simgrid.flows.is_installed", lambda: False)
    assert "install parcast-simgrid[simgrid]" in answered("ring").message


@needs_simgrid
def test_who_plays_too_long_is_stopped():
    registry, query = query_of("ring")
    (row,) = registry.compare(
        query.workload, query.machine, p=4, solvers="simgrid.flows",
        settings={"simgrid.flows.limit": 0.001},
    ).rows  # fmt: skip
    assert "SimGrid has played for 0.001 s, the limit" in row.message
