"""``parcast score``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from parcast.cli import output_option, print_json, print_table, print_text, show_progress
from parcast.errors import SolveError, UnknownNameError
from parcast.files import check_file, write_text
from parcast.quantities import parse_numbers

if TYPE_CHECKING:
    from parcast import Registry
    from parcast.model import Dataset
    from parcast_score.board import Score

#: What is written, by suffix.
SUFFIXES = (".html", ".json", ".md")

#: Columns that a narrow terminal does without.
_OPTIONAL = ("bottleneck", "knee", "CPU", "in 50 %", "in 90 %", "worst", "calibrated")


class _Scores(TyperGroup):
    """A word of commands that is a command itself: what is no other command is a dataset."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command before what is none."""
        if not args or args[0] not in {*self.commands, "--help", "-h"}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


score = typer.Typer(
    cls=_Scores,
    help="Set predictions beside measured data that they never saw: parcast score [DATASET...] "
    "[-s SOLVER...] [-o score.html]; 'parcast score run --help' lists the options.",
    no_args_is_help=False,
    rich_markup_mode=None,
)


@score.command("run")
def run(
    context: typer.Context,
    dataset: Annotated[
        list[str] | None,
        typer.Argument(help="Names of measured data or folders; all that are installed if none."),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option("-s", "--solver", help="Solvers, families or predictors; repeat or commas."),
    ] = None,
    series: Annotated[
        str | None, typer.Option(help="Print every point of the series that have this text.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    output: Annotated[Path | None, output_option("Write the page: .html, .md or .json.")] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write the errors at blind points, by which intervals are widened: .json.",
            metavar="FILE",
        ),
    ] = None,
) -> int:
    """Set predictions beside measured data: errors, refusals, coverage, calibrated and blind."""
    from parcast_score.board import datasets, predictors
    from parcast_score.board import score as ask
    from parcast_score.texts import header, refusals, rows, seen, to_dict

    if output is not None:
        check_file(output, "a scoreboard", SUFFIXES)
    if record is not None:
        check_file(record, "a record", (".json",))
    registry = context.obj
    names = [name.strip() for text in solver or () for name in text.split(",")]
    sets = datasets(registry, dataset or ())
    chosen = {spec: list(predictors(registry, sets[spec], names)) for spec in sets}
    scores = []
    with show_progress() as tell:
        for spec, name in [(key, name) for key in sets for name in chosen[key]]:
            tell(f"{sets[spec].name} by {name}")
            scores.append(ask(registry, sets[spec], name, spec))
    if json:
        print_json(to_dict(scores))
    elif series is not None:
        _print_points(scores, series)
    else:
        print_table(header(), rows(scores), optional=_OPTIONAL)
        for index, sentence in enumerate([*seen(scores), *refusals(scores)]):
            print_text(sentence if index else f"\n{sentence}")
        if not names:
            for sentence in dict.fromkeys(s for of in sets.values() for s in _absent(registry, of)):
                print_text(sentence)
    if output is not None:
        _write(registry, scores, output)
    if record is not None:
        from parcast_score.shipped import write_record

        write_text(record, write_record(scores))
    return 0 if any(score.blind.answered or score.calibrated.answered for score in scores) else 1


@score.command("init")
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make, which must not be there.")],
) -> int:
    """Make an empty dataset, whose comments say what belongs where."""
    from parcast_score.template import write_template

    write_template(folder)
    print_text(f"{folder}: fill in dataset.toml and points.csv, then: parcast score {folder}")
    return 0


@score.command("measure")
def measure(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The folder of the dataset.")],
    workload: Annotated[str, typer.Argument(help="Names or files, by commas.")],
    machine: Annotated[str, typer.Argument(help="The machine's file, as parcast mpi measure has.")],
    p: Annotated[str, typer.Option("-p", help="Numbers of processes, such as 1,2,4.")] = "1,2",
    solver: Annotated[str, typer.Option("-s", "--solver", help="Who measures.")] = "mpi.run",
) -> int:
    """Run programs on this host and write their times as a dataset; again to measure anew."""
    from parcast_score.runs import measure as write_runs

    names = [name.strip() for name in workload.split(",")]
    try:
        refused = write_runs(context.obj, folder, names, machine, parse_numbers("-p", p), solver)
    except SolveError as error:
        typer.echo(f"parcast: {error}", err=True)
        return 1
    for sentence in refused:
        typer.echo(f"parcast: {sentence}", err=True)
    print_text(f"{folder}: see parcast score {folder}")
    return 0


def _absent(registry: Registry, dataset: Dataset) -> Iterator[str]:
    from parcast_score.board import absent

    for name, reason in absent(registry, dataset).items():
        end = "" if reason.endswith(("?", ".")) else "."
        yield f"{name} is not asked: {reason}{end}"


def _print_points(scores: Sequence[Score], text: str) -> None:
    from parcast_score.texts import points

    printed = 0
    for scored in scores:
        heads, cells = points(scored)
        chosen = [row for row in cells if text in row[0]]
        if chosen:
            print_text(("\n" if printed else "") + f"{scored.dataset.name} by {scored.predictor}")
            print_table(heads, chosen)
        printed += len(chosen)
    if not printed:
        raise UnknownNameError(f"--series {text!r}: no series of the datasets has this text")


def _write(registry: Registry, scores: Sequence[Score], path: Path) -> None:
    from parcast_score import page
    from parcast_score.experiments import asked_again
    from parcast_score.texts import to_dict

    match path.suffix.lower():
        case ".html":
            text = page.html(scores, asked_again(registry))
        case ".md":
            text = page.markdown(scores, asked_again(registry))
        case _:
            text = dumps(to_dict(scores), indent=1, ensure_ascii=False) + "\n"
    write_text(path, text)
