"""Random models of tasks that go to random resources, after section 2.3 of the paper."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from parcast_pamela.simulation.kernel import PARALLEL, SEQUENCE, USE
from parcast_pamela.simulation.program import Simulation

#: Tasks of a random model, as in the paper
TASKS = 100


@attrs.frozen(eq=False)
class RandomModel:
    """A model whose service times are drawn, ready to be run, with its formulas' values."""

    simulation: Simulation
    critical_path: float
    contention: float
    bound: float  #: T^l

    @property
    def theta(self) -> float:
        """ln(omega / phi)."""
        return math.log(self.contention / self.critical_path)


def random_model(draw: np.random.Generator, accesses: int = 500) -> RandomModel:
    """Return a model like those of the paper's figure 3.

    100 tasks, layers of them one after the other; each task goes to uniformly random resources
    for times of an exponential distribution. The paper says neither the distribution nor how
    theta is varied; with constant times T^l/T at theta = 0 stays above 0.54, with exponential
    ones it comes to the 0.5 of the paper and of Mean Value Analysis.

    Parameters
    ----------
    draw
        Where all random numbers come from.
    accesses
        By each task, one after the other.
    """
    resources = int(draw.integers(2, 101))
    width = int(np.clip(round(resources * math.exp(draw.uniform(-2, 2))), 1, TASKS))
    times = draw.exponential(size=TASKS * accesses)
    positions = draw.integers(0, resources, size=TASKS * accesses)
    layer = np.arange(TASKS) // width
    layers = int(layer[-1]) + 1
    tasks = times.reshape(TASKS, accesses).sum(axis=1)
    longest = np.maximum.reduceat(tasks, np.arange(0, TASKS, width))
    demand = np.bincount(
        np.repeat(layer, accesses) * resources + positions, times, layers * resources
    ).reshape(layers, resources)
    return RandomModel(
        _simulation(positions, times, np.bincount(layer), resources, accesses),
        float(longest.sum()),
        float(demand.sum(axis=0).max()),
        float(np.maximum(longest, demand.max(axis=1)).sum()),
    )


def _simulation(
    positions: Any, times: Any, widths: Any, resources: int, accesses: int
) -> Simulation:
    """Return the columns: all accesses, then a node a task, a layer, and the whole."""
    count, layers = len(times), len(widths)
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return Simulation(
        kind=[*[USE] * count, *[SEQUENCE] * TASKS, *[PARALLEL] * layers, SEQUENCE],
        first=[*positions, *range(0, count, accesses), *(count + starts), count + TASKS],
        count=[*[0] * count, *[accesses] * TASKS, *widths, layers],
        time=[*times, *[0.0] * (TASKS + layers + 1)],
        children=list(range(count + TASKS + layers)),
        servers=[1] * resources,
        resources=[f"r[{number}]" for number in range(resources)],
        events=count,
        random=False,
    )
