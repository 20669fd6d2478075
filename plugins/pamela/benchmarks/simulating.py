"""The simulator and SimPy run the same models in one process; both must end at the same time.

``uv run --with simpy plugins/pamela/benchmarks/simulating.py``
"""

from __future__ import annotations

import time

import simpy

from parcast_pamela.language.reading import model_of
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run

MRM = """
param P : int >= 1, N : int >= 1
resource s
L = par (p = 1, P) seq (i = 1, N) { delay(9) ; use(s, 1) }
"""
PIPELINE = """
param N : int >= 1, M : int >= 1
resource u[1..M]
L = par (i = 1, N) seq (m = 1, M) use(u[m], m)
"""


def mrm(p, n):
    """Return the time of the machine repair model by SimPy."""
    world = simpy.Environment()
    server = simpy.Resource(world)

    def client():
        for _ in range(n):
            yield world.timeout(9)
            with server.request() as turn:
                yield turn
                yield world.timeout(1)

    for _ in range(p):
        world.process(client())
    world.run()
    return world.now


def pipeline(n, m):
    """Return the time of the pipeline by SimPy."""
    world = simpy.Environment()
    units = [simpy.Resource(world) for _ in range(m)]

    def data():
        for place, unit in enumerate(units, 1):
            with unit.request() as turn:
                yield turn
                yield world.timeout(place)

    for _ in range(n):
        world.process(data())
    world.run()
    return world.now


def timed(call):
    """Return CPU seconds and result of a call."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def main():
    """Print the comparison."""
    run(unfold(model_of(MRM), {"P": 1, "N": 1}))  # compile the kernel
    for name, text, given, peer in (
        ("machine repair, 100 clients", MRM, {"P": 100, "N": 2000}, lambda: mrm(100, 2000)),
        ("machine repair, 8 clients", MRM, {"P": 8, "N": 20000}, lambda: mrm(8, 20000)),
        ("pipeline of 20", PIPELINE, {"N": 5000, "M": 20}, lambda: pipeline(5000, 20)),
    ):
        model = model_of(text)
        ours, found = min(
            (timed(lambda m=model, g=given: run(unfold(m, g))) for _ in range(3)),
            key=lambda pair: pair[0],
        )
        theirs, expected = min((timed(peer) for _ in range(2)), key=lambda pair: pair[0])
        assert found.time == expected, (name, found.time, expected)
        print(f"{name:30} {ours:8.4f} s, SimPy {theirs:8.3f} s: {theirs / ours:6.1f} times faster")


if __name__ == "__main__":
    main()
