"""``parcast machine from`` and ``parcast machine check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option, print_json, print_table, show_progress
from parcast.errors import ParcastError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parcast import Registry
    from parcast_machines_from.records import Reading

#: More values than these are summed up by benchmark.
_ROWS = 60

#: What is read, in words.
KNOWN = (
    "OSU, IMB, NCCL tests, STREAM, BabelStream, HPL, HPCG, HPC Challenge, mixbench, ERT, "
    "mt-dgemm, IOR, mdtest, fio (JSON), lstopo (XML), scontrol show node, topology.conf, "
    "numactl -H, lscpu, ibstat, ibnetdiscover, nvidia-smi topo -m and nvlink -s, tables of "
    "Parkbench's kernels, parcast mpi measure, tables of medians, and of matrix products by "
    "shape (m, n, k)"
)

machine = typer.Typer(help="Machines from outputs of benchmarks.", no_args_is_help=True)

Within = Annotated[
    list[str] | None,
    typer.Option(
        help=(
            "Files of two processes within a level, such as node; network: between nodes. FILES is "
            "a file, a folder, or a pattern of names."
        ),
        metavar="LEVEL=FILES",
    ),
]
System = Annotated[
    str | None, typer.Option(help="Which system of a table with several.", metavar="NAME")
]
Files = Annotated[list[Path], typer.Argument(help="Outputs of benchmarks, or folders of them.")]


@machine.callback()
def group() -> None:
    """Machines from outputs of benchmarks, and the benchmarks predicted on a machine."""


@machine.command(name="from", epilog=f"Read are {KNOWN}.")
def from_outputs(
    context: typer.Context,
    files: Files,
    *,
    name: Annotated[str | None, typer.Option(help="What the machine is called.")] = None,
    within: Within = None,
    level: Annotated[
        list[str] | None,
        typer.Option(help="Cores of a level, such as node=96.", metavar="LEVEL=CORES"),
    ] = None,
    system: System = None,
    on: Annotated[
        str | None,
        typer.Option(help="Whose numbers hold where no output says them.", metavar="MACHINE"),
    ] = None,
    output: Annotated[Path | None, output_option("Write the machine's .toml file.")] = None,
) -> None:
    """Estimate a machine's numbers from outputs of benchmarks, each with its file and line."""
    from parcast.files import check_file, write_text
    from parcast_machines_from.collectives import with_collectives
    from parcast_machines_from.crosschecking import contradicted, unused
    from parcast_machines_from.estimating.machine import estimate
    from parcast_machines_from.placing import marks

    if output is not None:
        check_file(output, "a machine", [".toml"])
    reading = _read(files, within, system)
    title = name or (output.stem if output is not None else "machine")
    registry: Registry = context.obj
    others = None if on is None else registry.machine(on)
    result = estimate(reading, title, _levels(level), others)
    result = with_collectives(registry, result, reading)
    if not result.numbers:
        raise ParcastError(_nothing_determined(reading, result.open))
    registry.machine(result.data)  # what is written can be read
    for note in result.notes:
        typer.echo(f"parcast: {note}", err=True)
    if output is None:
        typer.echo(result.text + marks(reading, within or ()), nl=False)
        return
    write_text(output, result.text + marks(reading, within or ()))
    rows = [[number.key, _shown(number.value), number.source] for number in result.numbers]
    print_table(("number", "value", "source"), rows)
    if others is not None:
        typer.echo(f"as {others.name}: {', '.join(result.taken)}")
    for item in result.open:
        typer.echo(f"left out, {item}")
    for item in unused(result, reading):
        typer.echo(item)
    for item in contradicted(registry, result, reading):
        typer.echo(f"contradicted by {item}")


@machine.command()
def check(
    context: typer.Context,
    machine: Annotated[str, typer.Argument(help="A machine's name or file.")],
    files: Files,
    *,
    within: Within = None,
    system: System = None,
    limit: Annotated[
        int, typer.Option(help="Benchmarks of more processes are left out.", metavar="P")
    ] = 1024,
    samples: Annotated[
        int,
        typer.Option(
            "--uncertainty",
            help="Draws for intervals, each as long as a check without any; 0: no intervals.",
        ),
    ] = 40,
    output: Annotated[
        Path | None, output_option("Write measured and predicted by size: .html, .svg, ...")
    ] = None,
    all_values: Annotated[
        bool, typer.Option("--all", help=f"Print each value where there are more than {_ROWS}.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict benchmarks on a machine, and set what was measured beside it."""
    from parcast.cli import check_output
    from parcast_machines_from.checking.predicting import check_machine
    from parcast_machines_from.checking.summaries import summaries, table
    from parcast_machines_from.placing import kept_marks

    registry: Registry = context.obj
    check_output(registry, output)
    reading = _read(files, within or kept_marks(machine, files), system)
    if not reading.series:
        names = ", ".join(path.name for path in files)
        raise ParcastError(
            f"{names}: no benchmark's values by size, so there is nothing to compare; give outputs "
            "of OSU, IMB, STREAM and others, as 'parcast machine from' reads"
        )
    with show_progress("benchmarks") as tell:
        checked = check_machine(
            registry, registry.machine(machine), reading, limit=limit, samples=samples, tell=tell
        )
    if json:
        import attrs

        print_json(attrs.asdict(checked))
    else:
        if all_values or len(checked.compared) <= _ROWS:
            print_table(*table(checked))
            print()
        else:
            typer.echo(f"{len(checked.compared)} values; --all prints each, -o FILE writes them\n")
        for line in summaries(checked):
            typer.echo(line)
    for note in checked.notes:
        typer.echo(f"parcast: {note}", err=True)
    if output is not None:
        from parcast_machines_from.picturing import as_results

        registry.write(as_results(checked), output)


@machine.command()
def grow(
    context: typer.Context,
    files: Files,
    *,
    nodes: Annotated[int, typer.Option(help="More nodes than were measured.")],
    system: System = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict measured benchmarks at more nodes, by messages or by how public clusters grow."""
    from parcast_machines_from.growing import grown

    registry: Registry = context.obj
    values, notes = grown(registry, _read(files, None, system), nodes)
    if json:
        import attrs

        print_json({"nodes": nodes, "values": [attrs.asdict(value) for value in values]})
    else:
        from parcast_machines_from.growing import table

        print_table(*table(values))
    for note in notes:
        typer.echo(f"parcast: {note}", err=True)


def _read(files: Sequence[Path], within: Sequence[str] | None, system: str | None) -> Reading:
    import attrs

    from parcast_machines_from.estimating.machine import systems
    from parcast_machines_from.placing import read_placed

    reading = read_placed(files, within or ())
    names = systems(reading)
    if system is not None and system not in names:
        raise ParcastError(f"--system {system!r}: the outputs name {', '.join(names) or 'none'}")
    if system is None and len(names) > 1:
        raise ParcastError(
            f"the outputs are of {len(names)} systems; --system {names[0]} names one"
        )
    if system is None:
        return reading
    series = tuple(item for item in reading.series if item.system in {"", system})
    return attrs.evolve(reading, series=series)


def _nothing_determined(reading: Reading, left_out: Sequence[str]) -> str:
    """Return why outputs that are read make no machine, and which would."""
    from parcast_machines_from.naming import called

    kinds = dict.fromkeys(f"{item.benchmark} ({item.tool})" for item in reading.series)
    files = called([item.file for item in reading.series])
    notes = "".join(f"\nparcast: {note}" for note in reading.notes)
    return (
        f"{', '.join(kinds) or 'what was read'} of {files or 'these files'}: no number of a "
        f"machine follows from that alone; add, for {'; for '.join(left_out)}{notes}"
    )


def _levels(texts: Sequence[str] | None) -> dict[str, int]:
    levels = {}
    for text in texts or ():
        name, _, cores = text.partition("=")
        if not name or not cores.isdecimal() or not int(cores):
            raise ParcastError(f"--level {text!r}: write such as node=96")
        levels[name] = int(cores)
    return levels


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {text}" for name, text in value.items())
    if not isinstance(value, list):
        return str(value)
    first = next(keys for keys in (("kind", "share"), ("least",), ("name",)) if keys[0] in value[0])
    counted = "1 entry" if len(value) == 1 else f"{len(value)} entries"
    entries = (" ".join(str(entry[key]) for key in first) for entry in value)
    return f"{counted}: {', '.join(entries)}"
