"""``parcast pamela generate``: a program's model as a file."""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option
from parcast.errors import ParcastError, UnsupportedError
from parcast.files import read_text, write_text

if TYPE_CHECKING:
    from parcast import Registry
    from parcast_pamela.programs.lowering import Form


class FormName(StrEnum):
    """The forms that a user may name."""

    free = "free"
    numbers = "numbers"
    barrier = "barrier"


def generate(
    context: typer.Context,
    program: Annotated[str, typer.Argument(help="A program: a name or a .py file.")],
    machine: Annotated[
        str | None, typer.Argument(help="The machine of a program of messages: a name or a file.")
    ] = None,
    *,
    p: Annotated[
        int | None, typer.Option("-p", help="The model's own number of processes.")
    ] = None,
    d: Annotated[
        int | None, typer.Option("-d", help="Disks; the machine's own by default.")
    ] = None,
    form: Annotated[
        FormName | None,
        typer.Option(help="Lower bounds are free and numbers; barrier is an estimate."),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A value of either.")
    ] = None,
    output: Annotated[Path | None, output_option("A .pam file.")] = None,
) -> None:
    """Print a program as a model.

    A program of messages, 'def program(rank, size, ...)', is made a model with the numbers of
    MACHINE as values of its parameters. A data-parallel one, 'def program(P, ...)', is one for
    every machine of parallel loops; 'parcast pamela compile --machine-model' takes it.
    """
    path = _data_parallel(program)
    if path is None:
        text = _text(context.obj, program, machine, p, d, form, settings or [])
    else:
        if {machine, p, d, form, *(settings or [])} != {None}:
            raise ParcastError(
                f"{program} is data-parallel, its model for every machine; leave out MACHINE, "
                "-p, -d, --form and --set, and give them to 'parcast pamela compile'"
            )
        from parcast_pamela_compiler.generating import generate as generated

        text = generated(read_text(path), str(path))
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)


def _data_parallel(program: str) -> Path | None:
    """Return the file of a data-parallel program, the user's or a shipped one, None for others."""
    from parcast_pamela_compiler.source import is_data_parallel

    path = Path(program)
    if path.suffix != ".py":
        return None
    shipped = Path(str(files("parcast_pamela_compiler"))) / "sources" / path.name
    if not path.exists() and path.name == program and shipped.is_file():
        return shipped
    return path if path.is_file() and is_data_parallel(read_text(path)) else None


def _text(
    registry: Registry,
    program: str,
    machine: str | None,
    p: int | None,
    d: int | None,
    form: FormName | None,
    settings: list[str],
) -> str:
    from parcast.comparison import Scenario, Settings, split_assignment
    from parcast_pamela.programs.lowering import model

    workload = registry.workload(program)
    if workload.kind != "program":
        raise UnsupportedError(
            f"{workload.name} is of the kind {workload.kind!r}; a model is made of a 'program'"
        )
    if machine is None:
        raise ParcastError(f"{workload.name} is a program of messages; give a machine behind it")
    on = registry.machine(machine)
    assignments = Settings.sort(dict(map(split_assignment, settings)), registry, [workload])
    line = Scenario(workload=workload, machine=on, settings=assignments)
    p = 8 if p is None else p
    (p_,), (d_, *_) = line.processes(p), line.disks(d, p)
    query = line.query(registry, p_, d_)
    chosen: Form = "free" if form is None else form.value
    text, _ = model(workload, query, chosen, stated=True)
    return text
