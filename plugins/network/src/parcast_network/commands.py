"""``parcast network show``: the network of a machine as text and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from parcast import Machine
from parcast.cli import output_option, print_json, print_table

network = typer.Typer(help="Networks of machines.", no_args_is_help=True)


@network.callback()
def group() -> None:
    """Networks of machines: what connects the nodes."""


@network.command()
def show(
    context: typer.Context,
    machine: Annotated[str, typer.Argument(help="A machine's name or file.")],
    output: Annotated[Path | None, output_option("Draw it: .svg, .png, .pdf or .dot.")] = None,
    hot: Annotated[
        Path | None,
        typer.Option(help="Color links by details.utilization in these results (.json)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the links of a machine's network, its longest route, and what its halves exchange."""
    described = context.obj.machine(machine)
    if json:
        import attrs

        from parcast_network.summary import summary

        print_json(attrs.asdict(summary(described)))
    else:
        print_network(described)
    if output is not None:
        draw_network(described, output, None if hot is None else utilization(hot))


def print_network(machine: Machine) -> None:
    """Print the links of a machine's network by kind, its longest route and its halves."""
    from parcast_network import drawing
    from parcast_network.summary import summary

    facts = summary(machine)
    title, *figures = drawing.sentences(machine.name, facts)
    print(f"{title}\n")
    print_table(("links", "number", "each", "together", "latency"), drawing.rows(facts))
    print()
    for figure in figures:
        print(figure)


def draw_network(machine: Machine, output: Path, hot: Mapping[str, float] | None = None) -> None:
    """Write a picture of a machine's switches and cables, colored by how busy links are."""
    from parcast.files import write_graph
    from parcast_network import drawing
    from parcast_network.summary import network_of

    _, ports, fabric = network_of(machine)
    write_graph(drawing.dot(machine.name, ports, fabric, hot), output)


def utilization(path: Path) -> Mapping[str, float]:
    """Return how busy links are by their names, of the first results that say so.

    Raises
    ------
    FileError
        If there are none.
    """
    from parcast.errors import FileError
    from parcast.files import read_data

    data: Mapping[str, Any] = read_data(path)
    results = data.get("rows")
    for row in results if isinstance(results, list) else ():
        links = row.get("details", {}).get("utilization") if isinstance(row, dict) else None
        if isinstance(links, dict):
            numbers = {str(name): value for name, value in links.items()}
            if all(isinstance(value, int | float) for value in numbers.values()):
                return numbers
    raise FileError(f"{path}: no results have details.utilization, from link to number")


@network.command()
def levels(
    file: Annotated[Path, typer.Argument(help="What lstopo --of xml writes on a node.")],
) -> None:
    """Print the levels of a node as a machine's file states them, from hwloc's XML."""
    from parcast_network.readers.hwloc import level_sizes

    for name, size in level_sizes(file):
        print(f'[[network.levels]]\nname = "{name}"\nsize = {size}')
