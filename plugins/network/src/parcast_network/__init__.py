"""Networks: what connects the nodes of a machine, and how messages share its links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast import KernelEntry, PartEntry, hookimpl
from parcast.plugins import resources

if TYPE_CHECKING:
    import typer


parcast_parts = (
    PartEntry(
        "topology",
        "parcast_network.description:Description",
        "What connects the nodes: switches, cables and routes.",
        shows="parcast_network.commands:print_network",
        draws="parcast_network.commands:draw_network",
    ),
)


#: Machines of today, whose topology only this plugin reads.
parcast_machines = resources(__name__, ".toml", "machines")


parcast_kernels = (
    KernelEntry("network", "parcast_network.warming:shares", "Fair shares of links."),
)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast network``."""
    from parcast_network.commands import network

    app.add_typer(network, name="network")
