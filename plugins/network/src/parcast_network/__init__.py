"""Networks: what connects the nodes of a machine, and how messages share its links."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import PartEntry, Resource, hookimpl

if TYPE_CHECKING:
    import typer


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
def parcast_machines() -> Iterator[Resource]:
    """Add machines of today, whose topology only this plugin reads."""
    for path in (files("parcast_network") / "machines").iterdir():
        if path.name.endswith(".toml"):
            yield Resource(path.name.removesuffix(".toml"), path)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast network``."""
    from parcast_network.commands import network

    app.add_typer(network, name="network")
