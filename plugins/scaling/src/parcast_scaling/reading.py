"""Files of measured times: tables, Extra-P's forms, and the accounting of Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison import read_table, step_times
from parcast.errors import FileError, shorten
from parcast.files import read_text
from parcast_scaling.accounting import is_accounting, read_accounting
from parcast_scaling.columns import DERIVED, SIZES, TABLES, TIMES, plain_rows
from parcast_scaling.outputs import OUTPUT, Printed, read_output
from parcast_scaling.scope import Scope, scope_of_table
from parcast_scaling.series_columns import number, size_column, unused_columns
from parcast_scaling.thicket import is_thicket, read_thicket
from parcast_scaling.times import Run

if TYPE_CHECKING:
    from parcast import Registry

#: Amounts per process that the machine needs time for, beside times.
AMOUNTS = ("flops", "messages", "bytes")

_BEGINNING = 1 << 12

#: Columns that number or describe runs and tell no points apart.
IGNORED = ("run", "repeat", "comment", *DERIVED)


@attrs.frozen(kw_only=True)
class Times:
    """The measured runs of a file."""

    where: str
    runs: tuple[Run, ...]
    counts: str = "p"  #: what the sizes are a number of
    amounts: tuple[Mapping[str, float], ...] = ()  #: of each run, where it states any
    remarks: tuple[str, ...] = ()
    varies: bool = False  #: whether runs have a column n
    blind: tuple[Run, ...] = ()  #: runs that are only to be predicted
    killed: tuple[Run, ...] = ()  #: runs that ran into their limit, with the time until then
    scope: Scope = Scope()  #: beside the times
    profiles: bool = False  #: whether it is one run's profile or output: files make one table
    code: str = ""  #: whose output it is
    of_unit: str = ""  #: the unit of work that times are of, where rates were measured


def read_times(file: str) -> Times | None:
    """Return the times in a file; None where it is a table without a column of times.

    Raises
    ------
    FileError
        If a value is none, or a column tells runs apart that are not of one series.
    """
    path = Path(file if Path(file).exists() else file.partition("#")[0])
    suffix = path.suffix.lower()
    printed = OUTPUT.fullmatch(path.name) is not None
    known = printed or suffix in {*TABLES, ".json", ".jsonl"}
    if not known and not is_accounting(_beginning(path)):
        return None
    text = read_text(path)
    if is_accounting(text):
        return _of_accounting(text, path, file)
    if printed and (output := read_output(text, str(path))):
        return _of_output(output, path)
    if printed and suffix != ".txt":
        return None
    if suffix == ".json" and '"measurements"' not in text and not is_thicket(text):
        return None  # neither Extra-P's nor Thicket's: a recorded run, if anything
    if is_thicket(text):
        return _of_thicket(text, path, file)
    where, rows = read_table(file, repetitions=True)
    if not rows:
        return None
    plain = plain_rows(where, rows)
    heads = [str(name) for name in plain.rows[0][1]] if plain.rows else []
    if not any(name in heads for name in TIMES):
        _check_named(where, heads)
        return None
    series = _series(where, plain.rows)
    remarks = (*plain.remarks, *series.remarks)
    return attrs.evolve(series, remarks=remarks, of_unit=plain.of_unit)


def _check_named(where: str, heads: Sequence[str]) -> None:
    """Refuse a table with a size and no column that is a time, unless it may be one of amounts."""
    others = [name for name in heads if name not in {*SIZES, *IGNORED}]
    if "p" not in heads and others and any(name in SIZES for name in heads):
        raise FileError(
            f"{where}: none of {shorten(', '.join(others))} is known as a time or a rate; name it: "
            f"{where}#time={others[0]}, or rate={others[0]}"
        )


def _of_output(output: Printed, path: Path) -> Times:
    return Times(
        where=str(path),
        runs=(output.run,),
        counts="p",
        remarks=(output.remark,),
        varies=output.code.work is not None,
        profiles=True,
        code=output.code.name,
        of_unit=output.code.unit,
    )


def _beginning(path: Path) -> str:
    """Return the first kilobytes of a file, "" where there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(_BEGINNING).decode(errors="replace")


def _of_accounting(text: str, path: Path, file: str) -> Times:
    part = file[len(str(path)) + 1 :] if file != str(path) else ""
    axis, _, size = part.partition("=")
    if part and not (axis == "p" and size):
        raise FileError(
            f"{file}: write {path}#p=ntasks for the column that says how large jobs were"
        )
    jobs = read_accounting(text, str(path), size or None)
    return Times(
        where=str(path),
        runs=jobs.completed,
        counts=jobs.counts,
        remarks=jobs.remarks,
        killed=jobs.killed,
    )


def _of_thicket(text: str, path: Path, file: str) -> Times:
    part = file[len(str(path)) + 1 :] if file != str(path) else ""
    words = [word.partition("=") for word in part.split(",") if word]
    if unknown := [axis for axis, _, name in words if axis not in {"p", "n"} or not name]:
        raise FileError(
            f"{file}: {unknown[0]!r} is neither p=NAME nor n=NAME, of names in the metadata"
        )
    names = {axis: name for axis, _, name in words}
    runs, remarks = read_thicket(text, str(path), names)
    return Times(where=str(path), runs=runs, remarks=remarks, varies="n" in names, profiles=True)


def read_recorded(registry: Registry, files: Sequence[str]) -> Times | None:
    """Return the times of several runs, traces or profiles; None where the first is neither.

    A trace whose steps repeat has a time for each step.

    Raises
    ------
    FileError
        If a later file is of another kind, a trace has no times, or only some have steps.
    """
    if any(file.lower().endswith(TABLES) for file in files):
        return None
    runs: list[Run] = []
    kinds: dict[tuple[str, str], None] = {}
    for file in files:
        recorded = _recorded(registry, file)
        if recorded is None and not runs:
            return None
        if recorded is None:
            raise FileError(
                f"{file} is no {_kind(kinds)}, as {files[0]} is; give {_kind(kinds)}s alone"
            )
        kind, own, remark = recorded
        runs += own
        kinds[kind, remark] = None
    where = ", ".join(files)
    if len(kinds) > 1:
        raise FileError(
            f"{where}: some are profiles, traces or traces with steps that repeat; give one kind"
        )
    ((kind, remark),) = kinds
    return Times(where=where, runs=tuple(runs), remarks=(remark,), profiles=kind == "profile")


def _kind(kinds: Mapping[tuple[str, str], None]) -> str:
    return next(iter(kinds))[0]


def _recorded(registry: Registry, file: str) -> tuple[str, list[Run], str] | None:
    """Return the kind of a recorded run, its times, and what is said of them."""
    workload = registry.workload(file)
    alone = workload.kind == "trace" and workload.processes is None  # its other ranks have no file
    steps = step_times(registry, file) if alone or workload.repetitions else None
    if steps is not None:
        runs = [Run(item.at["p"], item.value, 1.0, item.place) for item in steps.items]
        return "trace", runs, "times are those of the steps that each run repeats"
    p = float(workload.processes or 1)
    if workload.kind == "profile":
        profile = workload.content.profile
        run = Run(p, profile.seconds / profile.processes, 1.0, file)
        remark = (
            "times are means of processes, as profiles have them, without what no region covers"
        )
        return "profile", [run], remark
    if workload.kind == "trace":
        run = Run(p, _seconds_of_trace(workload.content.trace, file), 1.0, file)
        remark = "times are those of the longest process, from its first recorded call to its last"
        return "trace", [run], remark
    return None


def _seconds_of_trace(trace: Any, file: str) -> float:
    if not trace.timed or trace.tick is None:
        raise FileError(
            f"{file}: it has no times in seconds, only work and messages; name the machine with "
            "--on, and leave out --to, for amounts as formulas of p"
        )
    return float((trace.ends - trace.begins).max() * trace.tick)


def _series(where: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Times:
    heads = [str(name) for name in rows[0][1]]
    size, same = size_column(where, rows, [name for name in SIZES if name in heads])
    time = next(name for name in TIMES if name in heads)
    unused = unused_columns(where, rows, [size, *same, time, "n", *AMOUNTS, *IGNORED])
    runs = tuple(_run(place, row, size, time) for place, row in rows)
    present = [name for name in AMOUNTS if name in heads]
    amounts = tuple({name: number(place, name, row) for name in present} for place, row in rows)
    remarks = [f"p counts {size}; {', '.join(same)} grow as it"] if same else []
    remarks += [f"not used: {', '.join(unused)}"] if unused else []
    return Times(
        where=where,
        runs=runs,
        counts=size,
        amounts=amounts if present else (),
        varies="n" in heads,
        scope=scope_of_table(rows),
        remarks=tuple(remarks),
    )


def _run(place: str, row: Mapping[str, Any], size: str, time: str) -> Run:
    p = number(place, size, row)
    if p < 1 or p % 1:
        raise FileError(f"{place}: {size} = {row[size]!r} must be a whole number, 1 or more")
    seconds = number(place, time, row, "s")
    n = number(place, "n", row) if "n" in row else 1.0
    for name, value in ((time, seconds), ("n", n)):
        if value <= 0:
            raise FileError(
                f"{place}: {name} = {value:g} must be above 0; leave out runs that failed"
            )
    return Run(p, seconds, n, place)
