"""What ``parcast spmd network`` prints for a reader."""

from __future__ import annotations

from parcast_spmd.mixed.network import MixedNetwork, MixedSolution
from parcast_spmd.mva.closed_network import ClosedNetwork, NetworkSolution
from parcast_spmd.states.solve import StatesSolution

_WORTH = {
    "mva": "exact mean value analysis",
    "integral": "exact by quadrature, about 12 digits",
    "lattice": "exact mean value analysis over all population vectors",
    "bard-schweitzer": "Bard and Schweitzer's approximation, within proven bounds",
    "aql": "aggregate queue length approximation, within proven bounds",
    "linearizer": "Linearizer approximation, within proven bounds",
    "line": "LINE's exact mean value analysis",
    "open": "exact, each station by itself",
    "convolution": "exact over all population vectors",
    "states": "exact from the balance of all states",
    "simulated": "a walk through its states",
}


def report(
    network: ClosedNetwork | MixedNetwork | None,
    solution: NetworkSolution | MixedSolution | StatesSolution,
) -> list[str]:
    """Return the lines for a reader of any solution."""
    if isinstance(network, ClosedNetwork) and isinstance(solution, NetworkSolution):
        return closed_report(network, solution)
    if isinstance(network, MixedNetwork) and isinstance(solution, MixedSolution):
        return mixed_report(network, solution)
    assert isinstance(solution, StatesSolution)
    return states_report(solution)


def states_report(solution: StatesSolution) -> list[str]:
    """Return the lines for a reader of a network that is solved state by state."""
    nodes: list[tuple[str, ...]] = [
        ("node", "class", "visits [1/s]", "of a visit [s]", "mean number", "utilization")
    ]
    for name, visits in solution.visit_rate.items():
        for r, job in enumerate(solution.classes):
            if not visits[r]:
                continue
            busy = solution.utilization.get(name)
            nodes.append(
                (
                    name,
                    job,
                    _number(visits[r]),
                    _number(solution.visit_response[name][r]),
                    _number(solution.queue_length[name][r]),
                    "-" if busy is None else f"{busy[r]:.4f}",
                )
            )
    classes: list[tuple[str, ...]] = [("class", "throughput [1/s]", "cycle time [s]")]
    for job, rate, time in zip(
        solution.classes, solution.throughput, solution.cycle_time, strict=True
    ):
        classes.append((job, *("-" if value is None else _number(value) for value in (rate, time))))
    lines = [*_table(nodes, 2), "", *_table(classes, 1), ""]
    if solution.firing_rate:
        modes: list[tuple[str, ...]] = [("mode", "firings [1/s]")]
        modes += [(name, _number(rate)) for name, rate in solution.firing_rate.items()]
        lines += [*_table(modes, 1), ""]
    of_them = "events" if solution.method == "simulated" else "of them"
    worth = f"method: {solution.method} ({_WORTH[solution.method]}, {solution.states:,} {of_them})"
    return [*lines, worth, *solution.notes]


def closed_report(network: ClosedNetwork, solution: NetworkSolution) -> list[str]:
    """Return the lines for a reader: stations, classes, and what the numbers are worth."""
    from parcast_spmd.mva.choice import utilization

    busy = utilization(network, solution)
    stations: list[tuple[str, ...]] = [
        ("station", "class", "response [s]", "queue length", "utilization")
    ]
    for station in network.stations:
        for r, job in enumerate(network.classes):
            if station.demand[r] == 0 or job.population == 0:
                continue
            queue = station.type == "queue"
            stations.append(
                (
                    station.name,
                    job.name,
                    _number(solution.response[station.name][r] if queue else station.demand[r]),
                    _number(solution.queue_length[station.name][r]),
                    f"{busy[station.name][r]:.4f}" if queue else "-",
                )
            )
    classes: list[tuple[str, ...]] = [("class", "jobs", "throughput [1/s]", "cycle time [s]", "")]
    for r, job in enumerate(network.classes):
        row = (_number(solution.throughput[r]), _number(solution.cycle_time[r]))
        classes.append((job.name, str(job.population), *row, _between(solution, r)))
    worth = f"method: {solution.method} ({_WORTH[solution.method]})"
    return [*_table(stations, 2), "", *_table(classes, 1), "", worth, *solution.notes]


def mixed_report(network: MixedNetwork, solution: MixedSolution) -> list[str]:
    """Return the lines for a reader of an open or mixed network."""
    stations: list[tuple[str, ...]] = [
        ("station", "class", "visits [1/s]", "of a visit [s]", "of a job [s]", "queue length",
         "utilization")
    ]  # fmt: skip
    for center in network.centers:
        name = center.name
        for r, job in enumerate(network.classes):
            if not solution.visit_rate[name][r]:
                continue
            busy = solution.utilization[name][r] if name in solution.utilization else None
            stations.append(
                (
                    name,
                    job,
                    _number(solution.visit_rate[name][r]),
                    _number(solution.visit_response[name][r]),
                    _number(solution.response[name][r]),
                    _number(solution.queue_length[name][r]),
                    "-" if busy is None else f"{busy:.4f}",
                )
            )
    classes: list[tuple[str, ...]] = [("class", "jobs", "throughput [1/s]", "cycle time [s]", "")]
    populations = {r: chain.population for chain in network.chains for r in chain.members}
    for r, job in enumerate(network.classes):
        time, bounds = solution.cycle_time[r], ""
        if time is None:
            low, high = solution.cycle_time_lower[r], solution.cycle_time_upper[r]
            bounds = f"proven: {low:.6g} to {high:.6g} s"
        jobs = populations[r]
        classes.append(
            (
                job,
                "open" if jobs is None else str(jobs),
                _number(solution.throughput[r]),
                "-" if time is None else _number(time),
                bounds,
            )
        )
    worth = f"method: {solution.method} ({_WORTH[solution.method]})"
    return [*_table(stations, 2), "", *_table(classes, 2), "", worth, *solution.notes]


def _between(solution: NetworkSolution, r: int) -> str:
    if solution.bounds is None:
        return ""
    low, high = solution.bounds.throughput_lower[r], solution.bounds.throughput_upper[r]
    return f"proven: {low:.6g} to {high:.6g} /s"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _table(rows: list[tuple[str, ...]], left: int) -> list[str]:
    """Return aligned lines, the first ``left`` columns and the last text flush left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if i < left or not cell[:1].isdigit() else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
