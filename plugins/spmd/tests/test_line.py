"""LINE as a peer: its own numbers first, then networks and phases beside parcast's exact methods.

Where LINE is not installed, a stand-in of its one function walks through all populations.
"""

from __future__ import annotations

import itertools
import random
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import parcast_spmd
from parcast import Query, Registry
from parcast.cli import main
from parcast.errors import UnsupportedError
from parcast.testing import cases, check_solver, seeds
from parcast_spmd import network_files
from parcast_spmd.mva import line
from parcast_spmd.mva.choice import solve
from parcast_spmd.mva.closed_network import ClosedNetwork, JobClass, Station

DATA = Path(__file__).parent / "data"
INSTALLED = find_spec("line_solver") is not None

#: Jobs at stations that LINE's ``MVA(model, method='exact')`` printed for the files of the name.
PRINTED = {
    "line-one.jmva": {"CPU": [0.14661005156275597], "Disk": [2.172423888904766]},
    "line-two.jmva": {
        "Bus": [0.5014738733239703, 0.4036220584769588],
        "Disk A": [1.605269838812578, 0.25822741342629496],
    },
}


def plain_mva(demand, population, think):
    """Reiser and Lavenberg's recursion, as LINE's ``pfqn_mva`` is called and answers."""
    lengths = {}
    for jobs in itertools.product(*(range(int(n) + 1) for n in population)):
        total, at, rates = np.zeros(len(demand)), np.zeros(demand.shape), np.zeros(len(jobs))
        for r in [r for r, n in enumerate(jobs) if n]:
            fewer = tuple(n - (s == r) for s, n in enumerate(jobs))
            response = demand[:, r] * (1 + lengths.get(fewer, total))
            rates[r] = jobs[r] / (think[r] + response.sum())
            at[:, r] = rates[r] * response
        lengths[jobs] = at.sum(axis=1)
    return rates[None, :], None, at


@pytest.fixture
def by_line(monkeypatch):
    """Have LINE, or the stand-in where it is not there."""
    if not INSTALLED:
        for name in ("line_solver", "line_solver.api", "line_solver.api.pfqn"):
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(
            sys.modules["line_solver.api.pfqn"], "pfqn_mva", plain_mva, raising=False
        )
        monkeypatch.setattr(line, "find_spec", lambda _: object())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not INSTALLED, reason="LINE is not installed: pip install line-solver")
def test_line_prints_what_its_readme_prints():
    """An M/M/1 of 50 % utilization: one job in the queue, for one second."""
    from line_solver import Exp, Network, OpenClass, Queue, SchedStrategy, Sink, SolverMVA, Source

    model = Network("M/M/1")
    source, queue = Source(model, "Source"), Queue(model, "Queue", SchedStrategy.FCFS)
    sink, jobs = Sink(model, "Sink"), OpenClass(model, "Class1")
    source.setArrival(jobs, Exp(1.0))
    queue.setService(jobs, Exp(2.0))
    model.link(Network.serial_routing([source, queue, sink]))
    row = SolverMVA(model).avg_table().iloc[-1]
    assert (row["QLen"], row["Util"], row["RespT"]) == pytest.approx((1, 0.5, 1))


@pytest.mark.usefixtures("by_line")
@pytest.mark.parametrize("name", PRINTED)
def test_its_own_files_are_solved_as_it_prints_them(name):
    solution = solve(network_files.read(DATA / name), "line")
    assert solution.method == "line"
    for station, jobs in PRINTED[name].items():
        assert solution.queue_length[station] == pytest.approx(jobs, rel=1e-12)


@pytest.mark.usefixtures("by_line")
def test_random_networks_are_solved_as_parcast_solves_them():
    for seed in seeds(cases(20)):
        draw = random.Random(seed)
        count = draw.randrange(1, 4)
        demands = [[draw.choice((0, draw.random())) for _ in range(count)] for _ in range(3)]
        network = ClosedNetwork(
            stations=(
                Station(name="think", type="delay", demand=[1.0] * count),
                *(Station(name=f"q{k}", type="queue", demand=row) for k, row in enumerate(demands)),
            ),
            classes=tuple(
                JobClass(name=f"c{r}", population=draw.randrange(5)) for r in range(count)
            ),
        )
        ours, peer = solve(network), solve(network, "line")
        assert peer.throughput == pytest.approx(ours.throughput, rel=1e-9)
        for station, jobs in ours.queue_length.items():
            assert peer.queue_length[station] == pytest.approx(jobs, rel=1e-9, abs=1e-12)


MACHINE = {
    "name": "m",
    "processor": {"rate": 1e9},
    "network": {"startup": 1e-6, "bandwidth": 1e9, "contention": "bus"},
    "storage": {"bandwidth": 1e9, "disks": 2},
}
PHASE = {
    "cycles": 100, "bursts": 3, "parallel": 4e9, "messages": 1, "bytes": 1e8, "io": "async",
    "io_bytes": 4e9,
}  # fmt: skip


def query_of(layout, p=4, d=2, **phase):
    registry = Registry([parcast_spmd])
    workload = registry.workload({"name": "w", "kind": "phases", "phase": [{**PHASE, **phase}]})
    machine = {**MACHINE, "storage": {**MACHINE["storage"], "layout": layout}}
    return registry, Query(workload=workload, machine=registry.machine(machine), p=p, d=d)


def answers(layout, p=4, d=2, **phase):
    registry, query = query_of(layout, p, d, **phase)
    names = ["spmd.bus" if layout == "bus" else "spmd.clu", "spmd.line"]
    return registry.compare(query.workload, query.machine, p=p, d=d, solvers=names).rows


@pytest.mark.usefixtures("by_line")
@pytest.mark.parametrize("layout", ["bus", "cluster"])
def test_phases_take_as_long_as_spmd_says(layout):
    ours, peer = answers(layout)
    assert peer.time == pytest.approx(ours.time, rel=1e-9)
    assert peer.parts.values() == pytest.approx(ours.parts.values(), rel=1e-9)
    (refused,) = answers("bus", io="sync")[1:]
    assert "this one has synchronous I/O" in refused.message


@pytest.mark.usefixtures("by_line")
def test_the_solver_conforms():
    registry, query = query_of("bus")
    assert len(check_solver(registry, "spmd.line", [query])) == 1


@pytest.mark.usefixtures("by_line")
def test_networks_that_take_minutes_are_refused():
    (refused,) = answers("cluster", p=4096, d=2)[1:]
    assert "LINE's exact analysis walks through 4,198,401 populations" in refused.message


def test_without_line_it_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(line, "find_spec", lambda _: None)
    assert answers("bus")[1].message == "LINE is not installed; pip install line-solver brings it"
    with pytest.raises(UnsupportedError, match="LINE is not installed"):
        solve(network_files.read(DATA / "line-one.jmva"), "line")
    assert main(["spmd", "network", str(DATA / "line-one.jmva"), "--method", "line"]) == 2
    assert "pip install line-solver" in capsys.readouterr().err
