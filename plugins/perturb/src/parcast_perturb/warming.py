"""A small question that compiles the kernel, which ``parcast warm`` asks."""

from __future__ import annotations

from parcast import Registry
from parcast.program import read_source

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

_MACHINE = {
    "name": "two nodes",
    "processor": {"rate": 1e9},
    "network": {"startup": 1e-6, "bandwidth": 1e9},
}


def propagation() -> None:
    """Pass delays on along the trace of a program."""
    Registry().predict(read_source(_PROGRAM), _MACHINE, "perturb.clocked", p=2)


def playing() -> None:
    """Play the trace of a program with noise, at ports and on links that are shared."""
    for contention in ("endpoint", "fair"):
        machine = {
            **_MACHINE,
            "network": {"startup": 1e-6, "bandwidth": 1e9, "contention": contention},
            "noise": {"calls": "exp:1us"},
        }
        settings = {"perturb.replications": 1}
        Registry().predict(
            read_source(_PROGRAM), machine, "perturb.simulated", p=2, settings=settings
        )
