"""Small questions that compile the kernels, which ``parcast warm`` asks."""

from __future__ import annotations

from parcast import Query, Registry
from parcast.program import read_source
from parcast_emulator.program_run import compiled_run, process_run

_PROGRAM = """\
def program(rank, size):
    compute(1e6)
    if rank == 0:
        send(1, 8)
        recv(1)
    else:
        recv(0)
        send(0, 8)
"""


def ranks() -> None:
    """Run a program whose messages meet at ports."""
    compiled_run(_query("endpoint"), 0.0).run()


def flows() -> None:
    """Run a program whose messages share links, by each engine."""
    for engine in (compiled_run, process_run):
        engine(_query("fair"), 0.0).run()


def _query(contention: str) -> Query:
    network = {"startup": 1e-6, "bandwidth": 1e9, "contention": contention}
    machine = {"name": "two nodes", "processor": {"rate": 1e9}, "network": network}
    workload = read_source(_PROGRAM)
    return Query(workload=workload, machine=Registry().machine(machine), p=2, d=1)


def blocks() -> None:
    """Simulate an application by each engine that is compiled."""
    registry = Registry()
    for engine in ("feed-forward", "merge"):
        settings = {"emulator.lc.engine": engine}
        registry.predict("titan", "table3-machine", "emulator.lc", p=4, settings=settings)
