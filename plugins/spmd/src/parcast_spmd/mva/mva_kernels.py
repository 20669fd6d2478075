"""The hot recursions of exact mean value analysis, point by point.

Every kernel is a plain Python function within numba's subset that calls no other function of
this file. The functions with public names choose the form: plain for small questions, which
then never import numba, and compiled for large ones.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from parcast.errors import SolveError
from parcast.plugins import Kernel, kernel

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

#: What a step of numpy over nodes takes, in steps of plain Python: once, and for each node.
_CALL_STEPS, _NODE_STEPS = 30, 0.03
#: So many jobs go through a kernel at once, for the sake of memory; a multiple of 8.
_SLAB = 4096


@kernel("parcast-spmd")
def two_queues_kernel(
    populations: Any,
    delays: Any,
    first: Any,
    second: Any,
    rates: Any,
    at_first: Any,
    at_second: Any,
) -> None:
    """Fill ``rates``, ``at_first`` and ``at_second`` (all 0 before); see `delay_two_queues`.

    Populations descend. Points go side by side, 64 at a time: each step of one waits for a
    division, so alone it takes four times as long. Until the last step, ``at_first`` and
    ``at_second`` hold the mean numbers at the queues.
    """
    points = len(populations)
    for start in range(0, points, 64):
        stop = min(start + 64, points)
        going = stop
        for i in range(1, populations[start]):
            while populations[going - 1] <= i:
                going -= 1
            for point in range(start, going):
                response_x = first[point] * (1.0 + at_first[point])
                response_y = second[point] * (1.0 + at_second[point])
                rate = i / (delays[point] + response_x + response_y)
                at_first[point] = rate * response_x
                at_second[point] = rate * response_y
        for point in range(start, stop):
            at_first[point] = first[point] * (1.0 + at_first[point])
            at_second[point] = second[point] * (1.0 + at_second[point])
            cycle = delays[point] + at_first[point] + at_second[point]
            rates[point] = populations[point] / cycle


@kernel("parcast-spmd")
def closed_kernel(population: Any, delay: Any, demands: Any, queues: Any, responses: Any) -> float:
    """Fill ``queues`` (all 0 before) and ``responses``, return the throughput; see `closed_mva`."""
    rate = 0.0
    for i in range(1, population + 1):
        cycle = delay
        for j in range(len(demands)):
            responses[j] = demands[j] * (1.0 + queues[j])
            cycle += responses[j]
        rate = i / cycle
        for j in range(len(demands)):
            queues[j] = rate * responses[j]
    return rate


@kernel("parcast-spmd")
def node_kernel(
    first: Any, last: Any, delays: Any, demands: Any, queues: Any, rate: Any, products: Any
) -> None:
    """Take the jobs ``first`` to ``last`` of `node_sweep`: ``queues`` and ``rate`` go on.

    Row by row ``products`` (all 1 before) holds what 8 jobs multiply the constants by, relative
    to the last node, which keeps the digits that two large logarithms would lose. Logarithms are
    not taken here, so that both forms give the same bits. Rows are filled by functions: where they
    are assigned, numba compiles what tells that their lengths differ, a third of the kernel.
    """
    responses = np.zeros((demands.size, delays.size))
    for i in range(first, last + 1):
        cycle = delays.copy()
        for j in range(demands.size):
            np.multiply(demands[j], 1.0 + queues[j], responses[j])
            cycle += responses[j]
        np.divide(i, cycle, rate)
        for j in range(demands.size):
            np.multiply(rate, responses[j], queues[j])
        product = products[(i - first) // 8]
        np.multiply(product, cycle / cycle[-1], product)


@kernel("parcast-spmd")
def lattice_kernel(
    populations: Any, delays: Any, demands: Any, totals: Any, responses: Any, rates: Any
) -> None:
    """Fill ``responses[class, queue]`` and ``rates[class]``; see `parcast_spmd.mva.exact_lattice`.

    ``totals[point, queue]`` (all 0 before) holds the mean number at each queue for every
    population vector, in the order of an odometer whose last class turns fastest.
    """
    classes, queues = demands.shape
    counts = np.zeros(classes, dtype=np.int64)
    strides = np.ones(classes, dtype=np.int64)
    for r in range(classes - 2, -1, -1):
        strides[r] = strides[r + 1] * (populations[r + 1] + 1)
    for point in range(1, totals.shape[0]):
        r = classes - 1
        while counts[r] == populations[r]:
            counts[r] = 0
            r -= 1
        counts[r] += 1
        for s in range(classes):
            if counts[s] == 0:
                continue
            before = point - strides[s]
            cycle = delays[s]
            for k in range(queues):
                responses[s, k] = demands[s, k] * (1.0 + totals[before, k])
                cycle += responses[s, k]
            rates[s] = counts[s] / cycle
            for k in range(queues):
                totals[point, k] += rates[s] * responses[s, k]


def delay_two_queues(
    populations: npt.ArrayLike, delays: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    """Return throughput and both residence times of a delay and two queues (eqs. 20 to 22).

    Exact mean value analysis: R(i) = x (1 + Q(i - 1)), the arrival theorem, which is what
    eq. 22 sums in closed form. The population is p/c throughout.

    Parameters
    ----------
    populations
        Jobs, whole numbers of at least 1; any shape that broadcasts with the others.
    delays, first, second
        Demands z, x and y in seconds per cycle, 0 or more and not all 0.

    Returns
    -------
    tuple of arrays
        Cycles per second, and the seconds per cycle spent at the first and second queue.

    Raises
    ------
    SolveError
        If an argument is out of its range.
    """
    shape, sizes, demands = _points(populations, delays=delays, first=first, second=second)
    order = np.argsort(-sizes, kind="stable")
    ordered = tuple(values[order] for values in demands)
    results = np.empty((3, sizes.size))
    results[:, order] = _run(two_queues_kernel, sizes[order], ordered, 3)
    rates, at_first, at_second = results
    return rates.reshape(shape), at_first.reshape(shape), at_second.reshape(shape)


def closed_mva(population: int, delay: float, demands: npt.ArrayLike) -> tuple[float, Floats]:
    """Return throughput and residence times of one class at any number of queues.

    Parameters
    ----------
    population
        Jobs, at least 1.
    delay
        Time per cycle without queuing, in seconds.
    demands
        Seconds per cycle at each queue, shape (queues,).

    Returns
    -------
    tuple
        Cycles per second, and seconds per cycle at each queue.

    Raises
    ------
    SolveError
        If an argument is out of its range.
    """
    values = np.asarray(demands, dtype=np.float64)
    check_points(np.asarray([population]), {"delay": np.asarray([delay]), "demands": values})
    if delay == 0 and not values.any():
        raise SolveError("A cycle of no time at all has no throughput; give a demand above 0.")
    if closed_kernel.worth_compiling(population * (values.size + 1)):
        queues, responses = np.zeros_like(values), np.zeros_like(values)
        rate = closed_kernel.compiled(population, float(delay), values, queues, responses)
        return float(rate), responses
    listed = [0.0] * values.size
    rate = closed_kernel.plain(
        population, float(delay), values.tolist(), [0.0] * values.size, listed
    )
    return float(rate), np.array(listed, dtype=np.float64)


def node_sweep(population: int, delays: Floats, demands: Floats) -> tuple[Floats, Floats, Floats]:
    """Return, for every delay t, the throughput, queue lengths and log g(t) / g(t_last).

    g is the normalizing constant of one class at its own queues: a step of exact mean value
    analysis multiplies it by the cycle time over the number of jobs.

    Parameters
    ----------
    population
        Jobs, at least 1.
    delays
        Delays t in seconds, above 0 unless there are queues, shape (nodes,).
    demands
        Seconds per cycle at each queue, shape (queues,).

    Returns
    -------
    tuple of arrays
        Shapes (nodes,), (queues, nodes) and (nodes,).
    """
    if demands.size == 0:
        logs = population * np.log(delays / delays[-1])
        return population / delays, np.zeros((0, delays.size)), logs
    steps = population * (demands.size + 1) * (_CALL_STEPS + delays.size * _NODE_STEPS)
    sweep = node_kernel.form(steps)
    queues, rate = np.zeros((demands.size, delays.size)), np.zeros(delays.size)
    logs = np.zeros(delays.size)
    for first in range(1, population + 1, _SLAB):
        last = min(population, first + _SLAB - 1)
        products = np.ones(((last - first) // 8 + 1, delays.size))
        sweep(first, last, delays, demands, queues, rate, products)
        logs += np.log(products).sum(axis=0)
    return rate, queues, logs


def _run(
    kernel: Kernel, sizes: Integers, demands: tuple[Floats, ...], results: int
) -> list[Floats]:
    """Call a kernel over points, with lists (fast in Python) or arrays (needed by numba)."""
    if kernel.worth_compiling(float(sizes.sum())):
        filled = [np.zeros(sizes.size) for _ in range(results)]
        kernel.compiled(sizes, *demands, *filled)
        return filled
    listed = [[0.0] * sizes.size for _ in range(results)]
    kernel.plain(sizes.tolist(), *(values.tolist() for values in demands), *listed)
    return [np.array(values, dtype=np.float64) for values in listed]


def _points(
    populations: npt.ArrayLike, **demands: npt.ArrayLike
) -> tuple[tuple[int, ...], Integers, tuple[Floats, ...]]:
    """Return the common shape and the flat arrays of a set of points, checked."""
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in demands.items()}
    check_points(np.asarray(populations), arrays)
    try:
        sizes, *values = np.broadcast_arrays(np.asarray(populations), *arrays.values())
    except ValueError:
        shapes = ", ".join(str(np.shape(values)) for values in (populations, *arrays.values()))
        raise SolveError(
            f"Arrays of shapes {shapes} do not fit together; broadcast them."
        ) from None
    flat = tuple(np.ascontiguousarray(array, dtype=np.float64).ravel() for array in values)
    if not np.all(sum(flat) > 0):
        raise SolveError("A cycle of no time at all has no throughput; give a demand above 0.")
    return sizes.shape, np.ascontiguousarray(sizes, dtype=np.int64).ravel(), flat


def check_points(populations: npt.NDArray[Any], demands: dict[str, Floats]) -> None:
    """Refuse populations below 1 and demands below 0 or without end."""
    bad = populations[~((populations >= 1) & (populations == np.floor(populations)))]
    if bad.size:
        raise SolveError(f"A population is {bad.flat[0]}; give whole numbers of at least 1.")
    for name, values in demands.items():
        wrong = values[~(np.isfinite(values) & (values >= 0))]
        if wrong.size:
            raise SolveError(f"One of {name} is {wrong.flat[0]}; give seconds of 0 or more.")
