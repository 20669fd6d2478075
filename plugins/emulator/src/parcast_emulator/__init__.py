"""Application emulators and their simulator (Uysal, Kurc, Sussman & Saltz 1998)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parcast import PartEntry, hookimpl

if TYPE_CHECKING:
    import typer


@hookimpl
def parcast_parts() -> Iterator[PartEntry]:
    """Add the parts of machines that data blocks pass."""
    yield PartEntry("disk", "parcast_emulator.hardware:Disk", "One of a node's d disks.")
    yield PartEntry("bus", "parcast_emulator.hardware:Bus", "From a node's disks to its memory.")
    yield PartEntry("nic", "parcast_emulator.hardware:Nic", "A node's port and its buffers.")


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast emulator``."""
    from parcast_emulator.commands import app as commands

    app.add_typer(commands, name="emulator", help="Application emulators and their simulator.")
