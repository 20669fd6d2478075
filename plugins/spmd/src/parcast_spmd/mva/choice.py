"""The solution of a closed network by the best method that applies, checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parcast.errors import SolveError, UnknownNameError, UnsupportedError, did_you_mean
from parcast_spmd.mva.aql import solve_aql
from parcast_spmd.mva.closed_network import Bounds, ClosedNetwork, NetworkSolution, check_network
from parcast_spmd.mva.exact_integral import solve_integral
from parcast_spmd.mva.exact_lattice import lattice_refusal, solve_lattice
from parcast_spmd.mva.line import solve_line
from parcast_spmd.mva.mva_kernels import closed_mva
from parcast_spmd.mva.schweitzer_linearizer import solve_bard_schweitzer, solve_linearizer
from parcast_spmd.mva.structure import Component, GroupResult, components
from parcast_spmd.mva.throughput_bounds import throughput_bounds

#: From the simplest to the last resort; a network is as exact as its hardest part.
METHODS = ("mva", "integral", "lattice", "bard-schweitzer", "aql", "linearizer")
APPROXIMATE = frozenset({"bard-schweitzer", "aql", "linearizer"})

_PartSolution = tuple[str, tuple[GroupResult, ...], tuple[str, ...]]


def solve(network: ClosedNetwork, method: str = "auto") -> NetworkSolution:
    """Return the steady-state means of a closed network.

    Parameters
    ----------
    network
        Any number of classes and stations. Parts that share no queue are solved apart.
    method
        ``auto``: exact mean value analysis where one class is alone, the integral where
        classes share one or two queues, the lattice where it fits, else Linearizer with
        proven bounds and the reason. Or one of ``mva``, ``integral``, ``lattice``,
        ``bard-schweitzer``, ``aql`` and ``linearizer``, or ``line``: the program LINE.

    Raises
    ------
    FileError
        If the network has no solution.
    UnknownNameError
        If no method has this name.
    UnsupportedError
        If the method does not apply to this network.
    SolveError
        If a method does not converge, or its result breaks a law; the residual is named.
    """
    check_network(network)
    names = ("auto", *METHODS, "line")
    if method not in names:
        choices = ", ".join(names)
        hint = did_you_mean(method, names)
        raise UnknownNameError(f"No method is called {method!r}; choose from {choices}.{hint}")
    if method == "line":
        solution = solve_line(network)
        _check(network, solution)
        return solution
    parts = list(components(network))
    _refuse(parts, method)
    # Times too far apart for floating point end as a broken law, not as a warning
    with np.errstate(all="ignore"):
        solved = [(part, _solve_part(part, method)) for part in parts]
    solution = _assemble(network, solved, method)
    _check(network, solution)
    return solution


def _refuse(parts: list[Component], method: str) -> None:
    shared = max((len(part.shared) for part in parts), default=0)
    if method == "mva" and shared:
        raise UnsupportedError(
            "Method 'mva' solves classes that share no queue, and these share one; "
            "use 'integral', 'lattice' or 'auto'."
        )
    if method == "integral" and shared == 0:
        raise UnsupportedError(
            "Method 'integral' is for classes that share a queue, and none do here; use 'mva'."
        )
    if method == "integral" and shared > 2:
        raise UnsupportedError(
            f"Method 'integral' takes one or two shared queues, and {shared} are shared here; "
            "use 'lattice', 'linearizer' or 'auto'."
        )


def _solve_part(part: Component, method: str) -> _PartSolution:
    """Return the method used for a component, its results, and notes."""
    chosen, reason = (method, "this method was asked for") if method != "auto" else _choose(part)
    if chosen in {"mva", "integral"} and not part.shared:
        return "mva", _solve_alone(part), ()
    exact: dict[str, Callable[[Component], tuple[GroupResult, ...]]] = {
        "integral": solve_integral,
        "lattice": solve_lattice,
    }
    if chosen in exact:
        return chosen, exact[chosen](part), ()
    if chosen == "bard-schweitzer":
        return chosen, solve_bard_schweitzer(part), (f"Approximate: {reason}.",)
    results, wrong = (solve_aql if chosen == "aql" else solve_linearizer)(part)
    notes = [f"Approximate: {reason}."]
    if wrong:
        notes.append(f"{wrong}.")
    return "bard-schweitzer" if wrong else chosen, results, tuple(notes)


def _choose(part: Component) -> tuple[str, str]:
    if not part.shared:
        return "mva", ""
    if len(part.shared) <= 2:
        return "integral", ""
    refusal = lattice_refusal(part)
    if refusal is None:
        return "lattice", ""
    return "linearizer", f"{len(part.shared)} queues are shared, and {refusal}"


def _solve_alone(part: Component) -> tuple[GroupResult, ...]:
    """Return exact means of classes that share nothing (one group of one class)."""
    results = []
    for group in part.groups:
        rate, responses = closed_mva(group.population, group.delay, group.private)
        results.append(GroupResult(throughput=rate, shared=responses[:0], private=rate * responses))
    return tuple(results)


def _assemble(
    network: ClosedNetwork, solved: list[tuple[Component, _PartSolution]], method: str
) -> NetworkSolution:
    classes = range(len(network.classes))
    rates = [0.0] * len(classes)
    lengths = {station.name: [0.0] * len(classes) for station in network.stations}
    names = [station.name for station in network.stations]
    for part, (_, results, _) in solved:
        for group, result in zip(part.groups, results, strict=True):
            for r, private in zip(group.members, group.stations, strict=True):
                rates[r] = result.throughput
                for k, length in zip(part.shared, result.shared, strict=True):
                    lengths[names[k]][r] = float(length)
                for k, length in zip(private, result.private, strict=True):
                    lengths[names[k]][r] = float(length)
    for station in network.stations:
        if station.type == "delay":
            lengths[station.name] = [rates[r] * station.demand[r] for r in classes]
    used = [name for _, (name, _, _) in solved] or ["mva" if method == "auto" else method]
    hardest = max(used, key=METHODS.index)
    notes = dict.fromkeys(note for _, (_, _, part_notes) in solved for note in part_notes)
    return NetworkSolution(
        method=hardest,
        throughput=tuple(rates),
        response={
            station.name: tuple(
                lengths[station.name][r] / rates[r] if rates[r] else 0.0 for r in classes
            )
            for station in network.stations
            if station.type == "queue"
        },
        queue_length={name: tuple(values) for name, values in lengths.items()},
        cycle_time=tuple(
            job.population / rate if rate else 0.0
            for job, rate in zip(network.classes, rates, strict=True)
        ),
        bounds=_bounds(network, [part for part, _ in solved]) if hardest in APPROXIMATE else None,
        notes=tuple(notes),
    )


def _bounds(network: ClosedNetwork, parts: list[Component]) -> Bounds:
    rates = [(0.0, 0.0)] * len(network.classes)
    times = [(0.0, 0.0)] * len(network.classes)
    for part in parts:
        for group in part.groups:
            lower, upper = throughput_bounds(part, group)
            for r in group.members:
                rates[r] = (lower, upper)
                times[r] = (group.population / upper, group.population / lower)
    return Bounds(
        throughput_lower=tuple(low for low, _ in rates),
        throughput_upper=tuple(high for _, high in rates),
        cycle_time_lower=tuple(low for low, _ in times),
        cycle_time_upper=tuple(high for _, high in times),
    )


def utilization(network: ClosedNetwork, solution: NetworkSolution) -> dict[str, tuple[float, ...]]:
    """Return the share of time that each queue serves each class."""
    return {
        station.name: tuple(
            rate * demand for rate, demand in zip(solution.throughput, station.demand, strict=True)
        )
        for station in network.stations
        if station.type == "queue"
    }


def _check(network: ClosedNetwork, solution: NetworkSolution) -> None:
    """Refuse a result that breaks a law every network keeps, or is no number."""
    for name, shares in utilization(network, solution).items():
        if not sum(shares) <= 1 + 1e-12:
            raise SolveError(
                f"Method {solution.method!r} gives a utilization of 1 + {sum(shares) - 1:.1e} at "
                f"{name!r}; ask for another method."
            )
    for r, job in enumerate(network.classes):
        jobs = sum(lengths[r] for lengths in solution.queue_length.values())
        if not abs(jobs - job.population) <= 1e-10 * max(job.population, 1):
            raise SolveError(
                f"Method {solution.method!r} finds {jobs:.12g} of the {job.population} jobs of "
                f"{job.name!r}; ask for another method."
            )
    for part in components(network):
        for group in part.groups:
            rate = solution.throughput[group.members[0]]
            lower, upper = throughput_bounds(part, group)
            if not lower * (1 - 1e-11) <= rate <= upper * (1 + 1e-11):
                raise SolveError(
                    f"Method {solution.method!r} gives a throughput of {rate:.12g} where "
                    f"{lower:.12g} to {upper:.12g} is proven; ask for another method."
                )
