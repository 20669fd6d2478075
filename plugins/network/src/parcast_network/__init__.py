"""Networks: what connects the nodes of a machine, and how messages share its links."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from parcast import PartEntry, hookimpl


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add what connects the nodes."""
    yield PartEntry(
        "topology",
        "parcast_network.description:Description",
        "What connects the nodes: switches, cables and routes.",
        shows="parcast_network.commands:print_network",
        draws="parcast_network.commands:draw_network",
    )


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast network``."""
    from parcast_network.commands import network

    app.add_typer(network, name="network")
