"""``parcast petri``: what only this family can do."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from parcast_petri.net import Net

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Timed Petri nets.")


class Evaluation(StrEnum):
    """When a delay that depends on the marking is evaluated."""

    batch = "batch"
    sequential = "sequential"


@app.callback()
def _group() -> None:
    """Timed Petri nets: programs on loaded nodes and shared networks."""


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="A timed net, in JSON or PNML.")],
    *,
    evaluation: Annotated[
        Evaluation, typer.Option(help="Delays of the marking: after the instant, or at once.")
    ] = Evaluation.batch,
    bound: Annotated[int, typer.Option(min=1, help="No place may have more tokens.")] = 1 << 40,
    firings: Annotated[int, typer.Option(min=1, help="Give up after so many.")] = 50_000_000,
    seed: Annotated[int, typer.Option(help="Of random delays.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Play a net until nothing is enabled: how long it takes, what fired, and whether it hangs."""
    from parcast_petri.solution import solution

    found = solution(
        read_net(file), evaluation=evaluation.value, bound=bound, firings=firings, seed=seed
    )
    typer.echo(json.dumps(found.as_json()) if as_json else found.report())


def read_net(file: Path) -> Net:
    """Return the net of a file, by its suffix."""
    from parcast.errors import FileError
    from parcast_petri.net_files import read_json

    if file.suffix.lower() == ".json":
        return read_json(file)
    raise FileError(f"{file}: nets are read from .json")
