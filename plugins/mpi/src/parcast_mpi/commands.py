"""``parcast mpi``: measure this host, and trace MPI programs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option, show_progress
from parcast.files import check_file, write_text

if TYPE_CHECKING:
    from parcast_traces.tracer.runs import Run

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure this host, and trace MPI programs."
)

MachineFile = Annotated[Path, output_option("The machine file to write.")]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="MODULE:FUNCTION that computes and returns how many operations it did, or dgemm, a "
        "product of matrices; its rate is then the machine's, instead of POLY1's."
    ),
]
Reference = Annotated[str | None, typer.Option(help="A machine whose speed counts as weight 1.")]
Directory = Annotated[
    Path | None, typer.Option(help="Where files are written and read to measure storage.")
]
Anyway = Annotated[
    bool, typer.Option("--anyway", help="Measure even a busy host, and mark the file.")
]
JobFile = Annotated[
    Path | None,
    typer.Option(help="A file with two numbers a line: seconds of arrival and of the core."),
]


@app.callback()
def _group() -> None:
    """Measure this host, and trace MPI programs."""


@contextlib.contextmanager
def _exit_1(*errors: type[Exception]) -> Iterator[None]:
    """Print these errors and end with code 1: the input was good, and there is no answer."""
    try:
        yield
    except errors as error:
        _say(str(error))
        raise typer.Exit(1) from None


@app.command()
def measure(
    context: typer.Context,
    *,
    output: MachineFile,
    kernel: Kernel = None,
    reference: Reference = None,
    directory: Directory = None,
    anyway: Anyway = False,
    one_line: Annotated[
        bool,
        typer.Option(
            "--one-line", help="One startup and bandwidth for all sizes, as emulator.lc needs."
        ),
    ] = False,
    benchmarks: Annotated[
        Path | None,
        typer.Option(
            help="Also run benchmarks that the file is not made from, and write their table, for "
            "'parcast machine check'.",
            metavar="FILE.csv",
        ),
    ] = None,
) -> None:
    """Measure this host: rates, messages, files and noise, each number with its uncertainty."""
    from parcast.errors import FileError, SolveError, UnsupportedError
    from parcast_mpi.measuring.measure import MeasurementPlan
    from parcast_mpi.measuring.measure import benchmarks as run_benchmarks
    from parcast_mpi.measuring.measure import measure as measured

    check_file(output, "a machine", [".toml"])
    if benchmarks is not None:
        check_file(benchmarks, "a table of benchmarks", [".csv"])
    if directory is not None and not directory.is_dir():
        raise FileError(f"--directory: there is no folder {directory}")
    plan = MeasurementPlan(
        name=output.stem,
        kernel=_check_kernel(kernel),
        reference=None if reference is None else context.obj.machine(reference),
        directory=None if directory is None else str(directory),
        anyway=anyway,
        by_size=not one_line,
        parts=context.obj.parts,  # a file with [disk] is refused where nothing installed knows it
    )
    with _exit_1(UnsupportedError, SolveError), show_progress() as tell:
        text = measured(plan, tell)
        table = None if benchmarks is None else run_benchmarks(plan)
    write_text(output, text)
    print(f"{output}: see parcast show {output}")
    if benchmarks is not None and table is not None:
        write_text(benchmarks, table)
        print(f"{benchmarks}: see parcast machine check {output} {benchmarks}")


@app.command()
def load(
    *,
    core: Annotated[int, typer.Option(min=0, help="The core that the jobs run on.")] = 0,
    jobs: JobFile = None,
    utilization: Annotated[
        float | None, typer.Option(help="Or: the core's utilization by jobs that come at random.")
    ] = None,
    demand: Annotated[
        str, typer.Option(help="Distribution of a job's seconds of the core, such as exp:50ms.")
    ] = "exp:50ms",
    seconds: Annotated[str, typer.Option(help="How long jobs come.")] = "10 s",
    seed: Annotated[int, typer.Option(help="Seed of the random jobs.")] = 0,
) -> None:
    """Load a core with background jobs: each a process that burns the core for its time."""
    import time

    from parcast.errors import FileError, UnsupportedError
    from parcast.quantities import Distribution, to_base
    from parcast_mpi.loading.generator import generate
    from parcast_mpi.loading.jobs import random_jobs, read_file

    if (jobs is None) == (utilization is None):
        raise FileError("give either --jobs, a file, or --utilization of random jobs")
    if jobs is not None:
        background = read_file(jobs)
    else:
        assert utilization is not None
        law = Distribution.read(demand, "s")
        background = random_jobs(law, utilization, to_base(seconds, "s"), seed)
    begin = time.monotonic()
    with _exit_1(UnsupportedError):
        used = generate(background, core)
    passed = time.monotonic() - begin
    print(f"{len(background)} jobs used {used:.4g} s of core {core} in {passed:.4g} s")


@app.command()
def trace(
    command: Annotated[
        list[str],
        typer.Argument(help="After --: the program, and its arguments.", metavar="-- COMMAND"),
    ],
    *,
    processes: Annotated[
        int | None,
        typer.Option("-n", min=1, help="Ranks to start; without it COMMAND starts them by itself."),
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the trace.")] = (
        Path("trace")
    ),
    mpiexec: Annotated[
        str | None, typer.Option(help="Starts the ranks; the mpicc beside it compiles the tracer.")
    ] = None,
) -> int:
    """Record every MPI call of a program, which need not be changed for it."""
    from parcast.errors import FileError, UnsupportedError
    from parcast_mpi.tracing.running import run
    from parcast_traces.tracer.runs import read_run

    with _exit_1(UnsupportedError):
        code = run(command, output, processes, mpiexec, _say)
    if code:
        _say(f"the command ended with code {code}")
    with _exit_1(FileError):
        _print_trace(read_run(output), output)
    return 1 if code else 0


@app.command()
def convert(
    folder: Annotated[Path, typer.Argument(help="A folder that parcast mpi trace wrote.")],
    output: Annotated[Path, typer.Argument(help="A .json file, or a new folder ending in .otf2.")],
) -> None:
    """Write a trace as neutral JSON, or as an OTF2 archive."""
    from parcast.errors import UnsupportedError
    from parcast_traces.readers.tracer import trace_of
    from parcast_traces.tracer.runs import read_run
    from parcast_traces.writers import write_trace

    check_file(output, "a trace", [".json", ".otf2"])
    run = read_run(folder)
    with _exit_1(UnsupportedError):
        losses = write_trace(trace_of(run, str(folder), checked=False), output)
    if run.asked_in_vain:
        losses += ("which requests a wait or a test was given and did not complete",)
    for loss in losses:
        print(f"note: lost: {loss}")


def _print_trace(run: Run, folder: Path) -> None:
    """Print how often each call was made and how long the ranks were in it."""
    from parcast.cli import print_table

    counts = sorted(run.counts().items(), key=lambda item: -item[1][1])
    calls = sum(count for count, _ in run.counts().values())
    print(f"{folder}: {calls} calls of {len(run.ranks)} ranks in {run.seconds:.6g} s")
    rows = [[name, str(count), f"{spent:.6f}"] for name, (count, spent) in counts]
    print_table(["call", "times", "seconds of all ranks"], rows)
    for records in run.ranks:
        if records.full:
            _say(f"rank {records.rank} could not write all of its trace")
        elif not records.ended:
            _say(
                f"rank {records.rank} did not come to MPI_Finalize; its {len(records.rows)} "
                "records until then are kept"
            )


def _say(text: str) -> None:
    print(f"parcast: {text}", file=sys.stderr)


def _check_kernel(name: str | None) -> str | None:
    from parcast.errors import FileError

    if name == "dgemm":
        return "parcast_mpi.measuring.kernels:product"
    if name is not None and not all(name.partition(":")):
        raise FileError(
            f"--kernel {name!r}: write dgemm, or MODULE:FUNCTION such as mykernels:solve"
        )
    return name
