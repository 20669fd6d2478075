"""``parcast roofline ridge MACHINE``."""

from __future__ import annotations

import typer

roofline = typer.Typer(help="Rooflines of machines.", no_args_is_help=True)


@roofline.callback()
def group() -> None:
    """Keep ``ridge`` a word of its own, though it is the only command."""


@roofline.command()
def ridge(context: typer.Context, machine: str) -> None:
    """Print the intensity, in operations a byte, above which memory is fast enough."""
    from parcast_roofline.solvers import share_of_memory

    asked = context.obj.machine(machine)
    rate = asked.need("processor.rate", "a roofline")
    typer.echo(f"{rate / share_of_memory(asked, asked.nodes.cores):g} FLOP/B")
