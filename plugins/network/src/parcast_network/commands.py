"""``parcast network show``: the network of a machine as text and as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

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
    import attrs

    from parcast_network import drawing
    from parcast_network.summary import network_of, summary

    described = context.obj.machine(machine)
    facts = summary(described)
    if json:
        print_json(attrs.asdict(facts))
    else:
        title, *figures = drawing.sentences(described.name, facts)
        print(f"{title}\n")
        print_table(("links", "number", "each", "together", "latency"), drawing.rows(facts))
        print()
        for figure in figures:
            print(figure)
    if output is not None:
        from parcast.files import write_graph

        _, ports, fabric = network_of(described)
        busy = None if hot is None else utilization(hot)
        write_graph(drawing.dot(described.name, ports, fabric, busy), output)


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
