"""The simulation against Ciw, in one run: the rate of events as a ratio, and the same answer.

    uv run --with ciw python plugins/spmd/benchmarks/simulation.py

Both play one closed network: jobs between a delay and two queues, all exponential. An event is
one service, at the delay or at a queue. Times are CPU seconds, compilation apart. Without
``ciw`` the comparison is left out and said to be.
"""

from __future__ import annotations

import time

import numpy as np

from parcast.model.phases import EXPONENTIAL
from parcast.quantities.replications import generator
from parcast_spmd.mva.mva_kernels import delay_two_queues
from parcast_spmd.simulation.kernel import Runs, Stations, event_kernel

Z, X, Y = 5.0, 1.0, 0.8
SIZES = (10, 100, 1000)


def stations(jobs: int) -> Stations:
    """Return the network for a number of jobs."""
    scale = jobs / 10
    return Stations(
        pace=np.full((jobs, 1), Z * scale),
        shape=EXPONENTIAL,
        constant=0.0,
        network=EXPONENTIAL.scaled(X),
        storage=EXPONENTIAL.scaled(Y),
        bursts=1,
        disks=np.zeros(jobs, dtype=int),
        nodes=np.full(jobs, -1),
        cores=np.empty(0, dtype=int),
    )


def ours(jobs: int, cycles: int) -> tuple[float, float]:
    """Return events per second and cycles per second of simulated time."""
    play = Runs(stations(jobs), generator(1, jobs), cycles=1 << 60)
    play.marks(1, 1000, form=event_kernel.compiled)
    start = time.process_time()
    marks = play.marks(2, cycles, form=event_kernel.compiled)
    spent = time.process_time() - start
    return 3 * 2 * cycles / spent, cycles / (marks[1, 0] - marks[0, 0])


def theirs(jobs: int, until: float) -> tuple[float, float] | None:
    """Return the same of Ciw, or None where it is not installed."""
    try:
        import ciw
    except ImportError:
        return None
    scale = jobs / 10
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([1e-9, float("inf")]), None, None],
        batching_distributions=[ciw.dists.Deterministic(size) for size in (jobs, 1, 1)],
        service_distributions=[
            ciw.dists.Exponential(1 / (Z * scale)),
            ciw.dists.Exponential(1 / X),
            ciw.dists.Exponential(1 / Y),
        ],
        number_of_servers=[float("inf"), 1, 1],
        routing=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
    )
    ciw.seed(1)
    simulation = ciw.Simulation(network)
    start = time.process_time()
    simulation.simulate_until_max_time(until)
    spent = time.process_time() - start
    records = simulation.get_all_records()
    cycles = sum(record.node == 3 for record in records)
    return len(records) / spent, cycles / until


def main() -> None:
    """Run everything and print a table."""
    print(f"{'jobs':>5}{'exact 1/s':>11}{'ours 1/s':>10}{'Ciw 1/s':>10}"
          f"{'ours events/s':>16}{'Ciw events/s':>14}{'ratio':>8}")  # fmt: skip
    for jobs in SIZES:
        exact = float(delay_two_queues(jobs, Z * jobs / 10, X, Y)[0])
        rate, found = ours(jobs, 1_000_000)
        peer = theirs(jobs, 20_000.0)
        line = f"{jobs:>5}{exact:>11.4f}{found:>10.4f}"
        if peer is None:
            print(f"{line}{'-':>10}{rate:>16,.0f}{'-':>14}{'-':>8}")
        else:
            print(f"{line}{peer[1]:>10.4f}{rate:>16,.0f}{peer[0]:>14,.0f}{rate / peer[0]:>7.0f}x")
    if peer is None:
        print("\nciw is not installed: no comparison (uv run --with ciw ...)")


if __name__ == "__main__":
    main()
