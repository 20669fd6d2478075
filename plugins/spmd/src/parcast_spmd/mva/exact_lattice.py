"""Exact multiclass mean value analysis over every population vector of a component."""

from __future__ import annotations

import math

import numpy as np

from parcast.errors import UnsupportedError
from parcast_spmd.mva.mva_kernels import Floats, Integers, lattice_kernel
from parcast_spmd.mva.structure import Component, GroupResult

#: Numbers kept at the most: 160 MB, and under a minute of work whatever the classes.
MEMORY_LIMIT = 20_000_000


def lattice_refusal(component: Component) -> str | None:
    """Return why the lattice of a component is too large, or None."""
    points, queues = lattice_size(component), _queues(component)
    if points * queues > MEMORY_LIMIT:
        return (
            f"{points:.3g} population vectors times {queues} queues exceed the "
            f"{MEMORY_LIMIT:,} numbers that are kept"
        )
    return None


def lattice_size(component: Component) -> int:
    """Return the number of population vectors, prod (N_r + 1) over classes."""
    return math.prod((group.population + 1) ** group.count for group in component.groups)


def _queues(component: Component) -> int:
    private = sum(group.count * len(group.private) for group in component.groups)
    return max(1, len(component.shared) + private)


def solve_lattice(component: Component) -> tuple[GroupResult, ...]:
    """Return the exact means of each group by the multiclass arrival theorem.

    R_rk(n) = D_rk (1 + Q_k(n - e_r)), for all population vectors n up to N (Reiser and
    Lavenberg 1980). Any number of shared queues.

    Raises
    ------
    UnsupportedError
        If the lattice is larger than the stated limits.
    """
    refusal = lattice_refusal(component)
    if refusal:
        raise UnsupportedError(f"Method 'lattice' is too large: {refusal}; use 'linearizer'.")
    populations, delays, demands = _expand(component)
    totals = np.zeros((lattice_size(component), demands.shape[1]))
    responses, rates = np.zeros_like(demands), np.zeros(len(delays))
    solve = lattice_kernel.form(3.0 * totals.size * len(delays))
    solve(populations, delays, demands, totals, responses, rates)
    return _collect(component, rates, responses)


def _expand(component: Component) -> tuple[Integers, Floats, Floats]:
    """Return populations, delays and demands (classes, queues), members of a group apart."""
    members = [group for group in component.groups for _ in range(group.count)]
    demands = np.zeros((len(members), _queues(component)))
    start = len(component.shared)
    for row, group in zip(demands, members, strict=True):
        row[: len(component.shared)] = group.shared
        row[start : start + len(group.private)] = group.private
        start += len(group.private)
    populations = np.array([group.population for group in members], dtype=np.int64)
    return populations, np.array([group.delay for group in members], dtype=np.float64), demands


def _collect(component: Component, rates: Floats, responses: Floats) -> tuple[GroupResult, ...]:
    """Return the result of the first member of each group."""
    shared, results = len(component.shared), []
    row, start = 0, shared
    for group in component.groups:
        lengths = rates[row] * responses[row]
        private = lengths[start : start + len(group.private)]
        results.append(
            GroupResult(throughput=float(rates[row]), shared=lengths[:shared], private=private)
        )
        row += group.count
        start += group.count * len(group.private)
    return tuple(results)
