"""Arrivals with a memory: how a process finds its node, against a plain simulation of one queue."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

import parcast_petri
from parcast import Registry
from parcast.errors import UnsupportedError
from parcast.program.reader import read_source
from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.machine.turns import Turns
from parcast_petri.slowdown import Slowdown

DEMAND = 3.0


class Queue:
    """Jobs of mean 1 on some cores, and how a process fares that joins them as they are."""

    def __init__(self, scheduling, cores, utilization, arrivals, seed):
        self.scheduling, self.cores, self.draw = scheduling, cores, random.Random(seed)
        self.every, self.arrivals = 1 / (cores * utilization), arrivals
        self.left, self.coming = [], self.gap()

    def gap(self):
        scv, draw = self.arrivals, self.draw
        if scv < 1:
            return self.every * draw.gammavariate(1 / scv, scv)
        share = (1 + math.sqrt((scv - 1) / (scv + 1))) / 2
        share = share if draw.random() < share else 1 - share
        return draw.expovariate(2 * share / self.every)

    def step(self, until, process=0.0):
        """Go on to the next event, or until then; return the time it took."""
        number, shared = len(self.left), self.scheduling == "ps" and process > 0
        rate = min(1.0, self.cores / max(1, number + shared))
        own = min(1.0, max(0, self.cores - number)) if self.scheduling == "priority" else rate
        least = min(self.left, default=math.inf) / rate
        took = min(least, self.coming, until, process / own if process and own else math.inf)
        self.left = [one - took * rate for one in self.left]
        self.coming -= took
        if took == least:
            self.left.remove(min(self.left))
        elif not self.coming:
            self.left.append(self.draw.expovariate(1.0))
            self.coming = self.gap()
        return took, took * own

    def process(self, demand):
        """Return how long a process takes, as if it had never been."""
        kept, now, left = (self.left, self.coming), 0.0, demand
        while left > 1e-12:
            took, done = self.step(math.inf, left)
            now, left = now + took, left - done
        self.left, self.coming = kept
        return now

    def times(self, number, apart=10.0):
        """Return the times of processes that come so far apart."""
        found, left = [], 50 * apart
        while len(found) < number:
            took, _ = self.step(left)
            left -= took
            if left <= 0:
                found.append(self.process(DEMAND))
                left = apart
        return np.array(found)


def agree(found, exact):
    error = math.hypot(found.std() / len(found) ** 0.5, exact.std() / len(exact) ** 0.5)
    assert abs(found.mean() - exact.mean()) < 4 * error
    assert np.quantile(found, 0.9) == pytest.approx(np.quantile(exact, 0.9), rel=0.1)


@pytest.mark.parametrize(
    ("scheduling", "cores", "utilization", "arrivals"),
    [("ps", 1, 0.5, 4.0), ("ps", 2, 0.7, 0.25), ("priority", 2, 0.5, 4.0), ("rr", 1, 0.5, 4.0)],
)
def test_a_process_finds_the_jobs_that_arrivals_with_a_memory_leave(
    scheduling, cores, utilization, arrivals
):
    law = Law.read(f"phase:{arrivals},1")
    turns = Turns(0.2) if scheduling == "rr" else None
    load = Load(cores, utilization, (Law.read("exp:1"),), (1.0,), law, scheduling, turns)
    runs = 400 if turns else 1500
    found = Slowdown(load=load, demand=DEMAND, begin="steady", runs=runs)._runs()
    kind = "ps" if turns else scheduling
    agree(found, Queue(kind, cores, utilization, arrivals, 1).times(2500))


def test_a_program_finds_them_too():
    machine = {
        "processor": {"rate": 1},
        "network": {"startup": 0.5, "bandwidth": 1, "contention": "none"},
        "background": {"utilization": 0.5, "demand": "exp:1s", "arrivals": "hyper:4,1"},
    }
    source = f"def program(rank, size):\n    compute({DEMAND})\n"
    settings = {"petri.explicit.tolerance": 1e-9, "petri.explicit.most": 1500}
    asked = Registry([parcast_petri]).predict
    row = asked(read_source(source), machine, "petri.explicit", p=1, settings=settings)
    exact = Queue("ps", 1, 0.5, 4.0, 2).times(2500)
    error = math.hypot(row.std / 1500**0.5, exact.std() / len(exact) ** 0.5)
    assert abs(row.time - exact.mean()) < 4 * error
    assert sum(row.parts.values()) == pytest.approx(row.time, rel=1e-9)
    assert (
        "arrivals depend on the past"
        in asked(read_source(source), machine, "petri.mean", p=1).notes[0]
    )


def test_slowdowns_plan_what_they_simulate():
    load = Load(1, 0.5, (Law.read("pareto:2.5,1"),), (1.0,))
    short, long, endless = (Slowdown(load=load, demand=one) for one in (10.0, 1e5, 1e9))
    assert (short.planned_runs, long.planned_runs) == (20_000, 100)
    assert long.jobs == 1e5
    with pytest.raises(UnsupportedError, match="meets some 1e"):
        endless.answer()
    with pytest.raises(UnsupportedError, match="more than 200,000 of them"):
        Load(2, 1 - 1e-7, (Law.read("exp:1"),), (1.0,)).factor()
