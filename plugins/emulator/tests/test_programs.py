"""Programs on emulator.tc: the compiled kernels do what the processes do, in every bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import parcast_emulator
import parcast_network
from parcast import Query, Registry
from parcast.errors import InvalidPointError
from parcast.plugins import Kernel
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import cases, random_program, seeds
from parcast_emulator import program_run
from parcast_emulator.engines.ranks.arrays import program_of
from parcast_emulator.program_run import compiled_run, process_run

REGISTRY = Registry([parcast_emulator, parcast_network])


def assert_same(query, polling=0.0):
    plain, compiled = process_run(query, polling), compiled_run(query, polling)
    plain.run()
    compiled.run()
    assert (compiled.time, compiled.start) == (plain.time, plain.start)
    assert compiled.ends == plain.ends
    assert compiled.parts == plain.parts
    return compiled


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
def test_checks_that_take_time(contention, eager):
    for seed in seeds(cases(20)):
        asked = {"wildcards": True, "without": ["colors", "loops"]} if seed % 3 == 0 else {}
        made = random_program(seed, contention=contention, eager=eager, **asked)
        assert_same(made.query, polling=1e-3 * (seed % 2 + 1))


DISKS = {
    "arm": {"overhead": 1e-3, "seek": 4e-3, "revolution": 8e-3, "track": 1e5, "bandwidth": 9e6},
    "channels": {"overhead": 1e-4, "channels": 3, "iops": 500, "bandwidth": 1e9},
}

FILES = """
def program(rank, size):
    for step in range(3):
        write(1e5 * (rank % 3 + 1))
        if size > 1:
            isend((rank + 1) % size, 3e5)
            irecv((rank - 1) % size)
        if step == 1:
            start()
        read(2e5)
        if size > 1:
            waitall()
"""


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("mode", ["store-and-forward", "cut-through"])
@pytest.mark.parametrize("duplex", ["half", "full"])
def test_files_on_disks_of_nodes_and_ports_of_one_direction(disk, mode, duplex):
    machine = REGISTRY.machine(
        {
            "name": "two cores",
            "nodes": {"cores": 2},
            "network": {"startup": 1e-4, "bandwidth": 1e7, "contention": "endpoint"},
            "disk": DISKS[disk],
            "bus": {"bandwidth": 2e7, "per_node": 2, "mode": mode},
            "nic": {"duplex": duplex},
        }
    )
    query = Query(workload=read_source(FILES), machine=machine, p=7, d=3)
    run = assert_same(query)
    assert run.start > 0
    assert sum(part.io for part in run.parts) > 0


def test_more_events_than_the_heap_has_room_for():
    text = (
        "def program(rank, size):\n"
        "    for k in range(3000):\n"
        "        send((rank + 1) % size, 10.0)\n"
        "    for k in range(3000):\n"
        "        recv(ANY)\n"
    )
    network = {"startup": 1e-4, "bandwidth": 1e7, "contention": "endpoint"}
    machine = REGISTRY.machine({"name": "ring", "network": network})
    assert_same(Query(workload=read_source(text), machine=machine, p=3, d=1))


TRANSPOSES = """
def program(rank, size):
    for step in range(2):
        sendrecv((rank + 1) % size, 4e5, (rank - 1) % size)
        alltoall(1e4)
        allreduce(8)
"""


@pytest.mark.parametrize("startup", [0.0, 1.5e-6])
def test_equal_messages_over_shared_links(startup):
    """Rates magnify the last bits: what ends at one time must be in one order, and together."""
    machine = REGISTRY.machine(
        {
            "name": "tapered",
            "nodes": {"cores": 2},
            "topology": {"kind": "fat-tree", "down": [4, 4], "up": [1, 2], "latency": 1e-7},
            "network": {
                "startup": startup,
                "bandwidth": 12.5e9,
                "contention": "fair",
                "collectives": "alltoall pairwise",
                "local": {"bandwidth": 20e9},
            },
        }
    )
    # the added seed: a message on its way to a rank does not move what that rank waits for
    for seed in [*seeds(2), 2027011500001]:
        nodes = np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2))
        mapping = tuple(nodes.tolist())
        workload = read_source(TRANSPOSES)
        assert_same(Query(workload=workload, machine=machine, p=24, d=1, mapping=mapping))


WHO_IS_FIRST = """
def program(rank, size):
    if rank == 0:
        recv(ANY)
        recv(1, tag=7)
        recv(ANY)
    if rank == 1:
        elapse(1)
        send(0, 1e6)
        send(0, 8, tag=7)
    if rank == 2:
        send(0, 1e6)
"""


@pytest.mark.parametrize("engine", [process_run, compiled_run])
def test_processes_that_wait_for_ever_are_named(engine):
    network = {"startup": 1e-4, "bandwidth": 1e7, "eager_limit": 1e3}
    machine = REGISTRY.machine({"name": "three", "network": network})
    query = Query(workload=read_source(WHO_IS_FIRST), machine=machine, p=3, d=1)
    with pytest.raises(InvalidPointError) as error:
        engine(query, 0.0).run()
    assert str(error.value) == (
        "program:5: at p=3 rank 0 never leaves its recv; order sends and receives so that they "
        "can meet"
    )


def test_few_operations_do_not_load_the_compiler(monkeypatch):
    made = random_program(3)
    for steps, by_processes in ((1000, True), (0, False)):
        for name in ("_RANKS", "_FLOWS"):
            engines = Kernel(process_run, lambda: compiled_run, plain_steps=steps)
            monkeypatch.setattr(program_run, name, engines)
        ran = program_run.run(made.query, 0.0)
        assert isinstance(ran, program_run.processes.Run) == by_processes


FAIR = {
    "name": "fair",
    "processor": {"rate": 1e6},
    "network": {"startup": 1e-4, "bandwidth": 1e7, "contention": "endpoint"},
    "nic": {"sharing": "fair"},
}


def test_what_only_processes_follow_is_refused_when_it_is_long():
    workload = read_source(
        "def program(rank, size):\n    for k in range(30000):\n        compute(1)"
    )
    asked = {"p": 4, "d": 1, "solvers": "emulator.tc"}
    (row,) = REGISTRY.compare(workload, FAIR, **asked).rows
    assert row.message == (
        "120,000 operations, simulated one by one as messages share a port (nic.sharing = 'fair'), "
        "are more than the default limit; use a smaller p, or --set emulator.tc.most_operations to "
        "more"
    )
    (row,) = REGISTRY.compare(workload, FAIR | {"nic": {"sharing": "fcfs"}}, **asked).rows
    assert row.time == pytest.approx(30000 * 1e-6)


SMALL_RUN = """
import sys
from parcast import Registry
from parcast.program.reader import read_source

ring = "def program(rank, size):\\n    sendrecv((rank + 1) % size, 1000, (rank - 1) % size)\\n"
network = {"startup": 1e-6, "bandwidth": 1e9, "contention": "fair"}
machine = {"name": "m", "processor": {"rate": 1e9}, "network": network}
registry = Registry()
workload = registry.workload(read_source(ring, "ring.py", "ring"))
result = registry.compare(workload, registry.machine(machine), p=8, solvers="emulator.tc")
print(result.rows[0].time, "numba" in sys.modules)
"""


def test_a_run_of_few_operations_does_not_load_numba():
    done = subprocess.run(
        [sys.executable, "-c", SMALL_RUN], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[1] == "False"


@pytest.mark.parametrize("contention", ["fair", "endpoint"])
def test_what_messages_cost_is_asked_once_for_each_pair_and_size(contention):
    for seed in seeds(20):
        drawn = random_program(seed, contention=contention, network=True)
        costs, _ = program_run.costs_of(drawn.query)
        matched = matched_program(drawn.query, pools=True)
        columns, program = matched.columns, program_of(matched, costs)
        if not len(program.latency):
            continue
        at = np.flatnonzero(columns.among(("send", "isend", "sendrecv")))
        message = program.rank[at], columns.dst[at], columns.amount[at]
        np.testing.assert_array_equal(program.latency[at], costs.latency(*message))
        np.testing.assert_array_equal(program.transfer[at], costs.transfer(*message))
