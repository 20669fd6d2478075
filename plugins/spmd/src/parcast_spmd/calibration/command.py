"""``parcast spmd machine``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option
from parcast.errors import ParcastError
from parcast.files import check_file, write_text

if TYPE_CHECKING:
    from parcast import Registry


def machine(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What the machine is called.")],
    *,
    poly1: Annotated[
        str | None, typer.Option(help="POLY1's rate: '120 MFLOP/s'.", metavar="RATE")
    ] = None,
    comms1: Annotated[
        str | None,
        typer.Option(
            help="COMMS1: 'STARTUP, BANDWIDTH', or a ping-pong table: bytes,seconds (one way) or "
            "bytes,round_trip.",
            metavar="NUMBERS|FILE.csv",
        ),
    ] = None,
    comms3: Annotated[
        str | None,
        typer.Option(
            help="COMMS3: the total bandwidth, or a table: p,bytes,seconds of all-to-all "
            "exchanges, or p,bandwidth.",
            metavar="NUMBER|FILE.csv",
        ),
    ] = None,
    disk: Annotated[
        str | None, typer.Option(help="The bandwidth of one disk.", metavar="BANDWIDTH")
    ] = None,
    disks: Annotated[int | None, typer.Option(help="How many disks there are.")] = None,
    output: Annotated[
        Path | None,
        output_option("Write the machine's .toml file."),
    ] = None,
) -> None:
    """Make a machine's file from what low-level kernels measured."""
    from parcast_spmd.calibration.machine import (
        contention,
        from_comms1,
        from_comms3,
        from_disks,
        from_poly1,
        machine_data,
        machine_text,
    )

    if output is not None:
        check_file(output, "a machine", [".toml"])
    values = [
        *(from_poly1(poly1) if poly1 is not None else ()),
        *(from_comms1(comms1) if comms1 is not None else ()),
        *(from_comms3(comms3) if comms3 is not None else ()),
        *from_disks(disk, disks),
    ]
    if not values:
        raise ParcastError("nothing was measured; give --poly1, --comms1, --comms3 or --disk")
    contention(values)
    registry: Registry = context.obj
    registry.machine(machine_data(name, values))  # what is written can be read
    for value in values:
        if value.note:
            typer.echo(f"parcast: {value.note}", err=True)
    text = machine_text(name, values)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_text(output, text)
