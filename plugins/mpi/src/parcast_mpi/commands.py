"""``parcast mpi``: measure this host."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="The real thing.")


@app.callback()
def _group() -> None:
    """Measure this host, and trace MPI programs."""


@app.command()
def measure(
    context: typer.Context,
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The machine file to write.")],
    kernel: Annotated[
        str | None,
        typer.Option(
            help="MODULE:FUNCTION that computes and returns how many operations it did; its rate "
            "is then the machine's, instead of POLY1's."
        ),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="A machine whose speed counts as weight 1.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(help="Where files are written and read to measure storage.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Measure even a busy host, and mark the file.")
    ] = False,
) -> int:
    """Measure this host: rates, messages, files and noise, each number with its uncertainty."""
    from parcast.errors import FileError, SolveError, UnsupportedError
    from parcast_mpi.measuring.measure import Asked
    from parcast_mpi.measuring.measure import measure as measured

    _check_output(output)
    if directory is not None and not directory.is_dir():
        raise FileError(f"--directory: there is no folder {directory}")
    asked = Asked(
        name=output.stem,
        kernel=_check_kernel(kernel),
        reference=None if reference is None else context.obj.machine(reference),
        directory=None if directory is None else str(directory),
        anyway=anyway,
    )
    try:
        with _progress() as tell:
            text = measured(asked, tell)
    except (UnsupportedError, SolveError) as error:
        print(f"parcast: {error}", file=sys.stderr)
        return 1
    output.write_text(text)
    print(f"{output}: see parcast show {output}")
    return 0


def _check_output(path: Path) -> None:
    from parcast.errors import FileError

    if path.suffix != ".toml":
        raise FileError(f"{path}: a machine file is TOML; end the name in .toml")
    if not path.parent.is_dir():
        raise FileError(f"{path} cannot be written: there is no folder {path.parent}")


def _check_kernel(name: str | None) -> str | None:
    from parcast.errors import FileError

    if name is not None and not all(name.partition(":")):
        raise FileError(f"--kernel {name!r}: write MODULE:FUNCTION, such as mykernels:solve")
    return name


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show what is being measured on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda _place, _count, _name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")

        def tell(place: int, count: int, name: str) -> None:
            bar.update(task, completed=place, total=count, description=name)

        yield tell
