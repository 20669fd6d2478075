"""``parcast pamela generate``: a program's model as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.errors import FileError, UnsupportedError

if TYPE_CHECKING:
    from parcast.registry import Registry


class FormName(StrEnum):
    """The forms that a user may name."""

    free = "free"
    barrier = "barrier"


def generate(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="A program: a name or a .py file.")],
    machine: Annotated[str, typer.Argument(help="The machine: a name or a file.")],
    *,
    p: Annotated[int, typer.Option("-p", help="The model's own number of processes.")] = 8,
    d: Annotated[
        int | None, typer.Option("-d", help="Disks; the machine's own by default.")
    ] = None,
    form: Annotated[FormName, typer.Option(help="A lower bound, or an estimate.")] = FormName.free,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A value of either.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A .pam file.")] = None,
) -> None:
    """Print a program as a model, with the machine's numbers as values of its parameters."""
    text = _text(context.obj, program, machine, p, d, form.value, settings or [])
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_text(text)
    except OSError as error:
        raise FileError(f"{output} cannot be written: {error.strerror or error}") from None


def _text(
    registry: Registry,
    program: str,
    machine: str,
    p: int,
    d: int | None,
    form: str,
    settings: list[str],
) -> str:
    from parcast.asking import Line
    from parcast.settings import Settings, split_assignment
    from parcast_pamela.programs.lowering import model

    workload, on = registry.workload(program), registry.machine(machine)
    if workload.kind != "program":
        raise UnsupportedError(
            f"{workload.name} is of the kind {workload.kind!r}; a model is made of a 'program'"
        )
    given = Settings.sort(dict(map(split_assignment, settings)), registry, [workload])
    line = Line(workload=workload, machine=on, settings=given)
    (p_,), (d_, *_) = line.processes(p), line.disks(d, p)
    query = line.query(registry, p_, d_)
    text, _ = model(workload, query, "barrier" if form == "barrier" else "free", stated=True)
    return text
