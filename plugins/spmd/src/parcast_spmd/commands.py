"""``parcast spmd``: surfaces, machines from kernels, and closed networks from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option
from parcast_spmd.calibration.command import machine
from parcast_spmd.surface.command import surface

if TYPE_CHECKING:
    from parcast_spmd.mva.closed_network import ClosedNetwork, NetworkSolution

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="SPMD queuing networks.")


@app.callback()
def _group() -> None:
    """Queuing networks of SPMD programs."""


app.command()(surface)
app.command()(machine)


@app.command()
def network(
    file: Annotated[Path, typer.Argument(help="A closed network: .json, .jmva or .jsimg.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    method: Annotated[
        str, typer.Option(help="auto, mva, integral, lattice, bard-schweitzer, aql or linearizer.")
    ] = "auto",
    output: Annotated[
        Path | None, output_option("Write the network: .json, .jmva or .jsimg.")
    ] = None,
) -> None:
    """Solve a closed queuing network: throughput, response times and queue lengths."""
    from parcast_spmd import network_files
    from parcast_spmd.mva.choice import solve

    if output is not None:
        network_files.check_writable(output)
    closed_network = network_files.read(file)
    solution = solve(closed_network, method)
    if as_json:
        typer.echo(json.dumps(solution.to_data(), allow_nan=False))
    else:
        typer.echo("\n".join(_report(closed_network, solution)))
    if output is not None:
        network_files.write(closed_network, output)


def _report(network: ClosedNetwork, solution: NetworkSolution) -> list[str]:
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
    lines = [*_table(stations, 2), "", *_table(classes, 1), "", _worth(solution)]
    return [*lines, *solution.notes]


def _between(solution: NetworkSolution, r: int) -> str:
    if solution.bounds is None:
        return ""
    low, high = solution.bounds.throughput_lower[r], solution.bounds.throughput_upper[r]
    return f"proven: {low:.6g} to {high:.6g} /s"


def _worth(solution: NetworkSolution) -> str:
    names = {
        "mva": "exact mean value analysis",
        "integral": "exact by quadrature, about 12 digits",
        "lattice": "exact mean value analysis over all population vectors",
        "bard-schweitzer": "Bard and Schweitzer's approximation, within proven bounds",
        "aql": "aggregate queue length approximation, within proven bounds",
        "linearizer": "Linearizer approximation, within proven bounds",
    }
    return f"method: {solution.method} ({names[solution.method]})"


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
