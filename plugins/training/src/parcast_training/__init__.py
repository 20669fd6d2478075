"""Training jobs recorded as tables of operations: what a run without stragglers would take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from parcast import Reader, hookimpl

if TYPE_CHECKING:
    import typer

#: What is read by suffix, and what tells it from other files of this suffix.
_READ = {
    ".parquet": ("Operations of a training job, as columns.", ""),
    ".csv": ("Operations of a training job, a row each.", r"\A(?=.*\bdp_rank\b).*\boptype\b"),
}


@hookimpl
def parcast_readers() -> Iterator[Reader]:
    """Add tables of operations, which are read as traces."""
    for suffix, (summary, mark) in _READ.items():
        yield Reader(suffix, "parcast_training.trace:read_workload", summary, mark=mark)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast goodput``."""
    from parcast_training.goodput import command

    app.command(name="goodput")(command.goodput)
