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
            help="auto, mva, integral, lattice, bard-schweitzer, aql, linearizer or line."
        ),
    ] = "auto",
    output: Annotated[
        Path | None, output_option("Write the network: .json, .jmva or .jsimg.")
    ] = None,
) -> None:
    """Solve a queuing network: throughput, response times and queue lengths."""
    from parcast.errors import UnsupportedError
    from parcast_spmd import network_files
    from parcast_spmd.mixed.network import MixedNetwork
    from parcast_spmd.mixed.solve import solve_mixed
    from parcast_spmd.mva.choice import solve
    from parcast_spmd.network_report import closed_report, mixed_report

    if output is not None:
        network_files.check_writable(output)
    content = network_files.read(file)
    if isinstance(content, MixedNetwork):
        if method != "auto" or output is not None:
            raise UnsupportedError(
                f"{file} is open, mixed or has several servers, for which there is one method and "
                "no file is written; leave --method and -o out."
            )
        mixed = solve_mixed(content)
        data, lines = mixed.to_data(), mixed_report(content, mixed)
    else:
        solution = solve(content, method)
        data, lines = solution.to_data(), closed_report(content, solution)
        if output is not None:
            network_files.write(content, output)
    typer.echo(json.dumps(data, allow_nan=False) if as_json else "\n".join(lines))
