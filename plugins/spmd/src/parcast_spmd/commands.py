"""``parcast spmd``: surfaces, machines from kernels, and queuing networks from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from parcast.cli import output_option
from parcast_spmd.calibration.command import machine
from parcast_spmd.surface.command import surface

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="SPMD queuing networks.")


@app.callback()
def _group() -> None:
    """Queuing networks of SPMD programs."""


app.command()(surface)
app.command()(machine)


@app.command()
def network(
    file: Annotated[Path, typer.Argument(help="A queuing network: .json, .jmva or .jsimg.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    method: Annotated[
        str,
        typer.Option(
            help="auto, mva, integral, lattice, bard-schweitzer, aql, linearizer, states, "
            "simulated or line."
        ),
    ] = "auto",
    output: Annotated[
        Path | None, output_option("Write the network: .json, .jmva or .jsimg.")
    ] = None,
) -> None:
    """Solve a queuing network: throughput, response times and queue lengths."""
    from parcast.errors import UnsupportedError
    from parcast_spmd import network_files
    from parcast_spmd.mva.closed_network import ClosedNetwork
    from parcast_spmd.network_report import report

    if output is not None:
        network_files.check_writable(output)
    answer = network_files.solve_file(file, method)
    if output is not None:
        if not isinstance(answer.network, ClosedNetwork):
            raise UnsupportedError(
                f"{file} is no closed network of single servers with a product form, which alone "
                "can be written; leave -o out."
            )
        network_files.write(answer.network, output)
    data, lines = answer.solution.to_data(), report(answer.network, answer.solution)
    typer.echo(json.dumps(data, allow_nan=False) if as_json else "\n".join(lines))
