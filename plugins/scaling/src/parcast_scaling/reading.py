"""Files of measured times: tables, Extra-P's forms, and the accounting of Slurm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast.comparison import read_table, step_times
from parcast.errors import FileError, UnitError, shorten
from parcast.files import read_text
from parcast.quantities import parse_quantity, to_base
from parcast_scaling.accounting import is_accounting, read_accounting
from parcast_scaling.columns import DERIVED, SIZES, TABLES, TIMES, fix_of, from_clock, plain_rows
from parcast_scaling.scope import Scope, scope_of_table
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
    profiles: bool = False  #: whether each run is a profile, so that files make one table


def read_times(file: str) -> Times | None:
    """Return the times in a file; None where it is a table without a column of times.

    Raises
    ------
    FileError
        If a value is none, or a column tells runs apart that are not of one series.
    """
    path = Path(file if Path(file).exists() else file.partition("#")[0])
    known = path.suffix.lower() in {*TABLES, ".txt", ".json", ".jsonl", ".out", ".log"}
    if not known and not is_accounting(_beginning(path)):
        return None
    text = read_text(path)
    if is_accounting(text):
        return _of_accounting(text, path, file)
    if path.suffix.lower() in {".out", ".log"}:
        return None
    if path.suffix.lower() == ".json" and '"measurements"' not in text and not is_thicket(text):
        return None  # neither Extra-P's nor Thicket's: a recorded run, if anything
    if is_thicket(text):
        return _of_thicket(text, path, file)
    where, rows = read_table(file, repetitions=True)
    if not rows:
        return None
    plain, remarks = plain_rows(where, rows)
    if not plain or not any(name in plain[0][1] for name in TIMES):
        return None
    return attrs.evolve(_series(where, plain), remarks=remarks)


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
    size = next((name for name in SIZES if name in heads), None)
    if size is None:
        raise FileError(
            f"{where}: there is no column 'p' (or {', '.join(SIZES[1:])}), only "
            f"{shorten(', '.join(heads))}; say which counts processes: {where}#p=NAME"
        )
    time = next(name for name in TIMES if name in heads)
    _check_alone(where, rows, [size, time, "n", *AMOUNTS, *IGNORED])
    runs = tuple(_run(place, row, size, time) for place, row in rows)
    present = [name for name in AMOUNTS if name in heads]
    amounts = tuple({name: _number(place, name, row) for name in present} for place, row in rows)
    return Times(
        where=where,
        runs=runs,
        counts=size,
        amounts=amounts if present else (),
        varies="n" in heads,
        scope=scope_of_table(rows),
    )


def _check_alone(
    where: str, rows: Sequence[tuple[str, Mapping[str, Any]]], meant: Sequence[str]
) -> None:
    """Refuse a table of several series: what tells them apart is not in the curve."""
    for name in rows[0][1]:
        values = {str(row.get(name)) for _, row in rows}
        if name not in meant and len(values) > 1:
            raise FileError(
                f"{where}: column {name!r} has {len(values)} values; keep the runs of one of them, "
                "or call it n if it is the work"
            )


def _run(place: str, row: Mapping[str, Any], size: str, time: str) -> Run:
    p = _number(place, size, row)
    if p < 1 or p % 1:
        raise FileError(f"{place}: {size} = {row[size]!r} must be a whole number, 1 or more")
    seconds = _number(place, time, row, "s")
    n = _number(place, "n", row) if "n" in row else 1.0
    for name, value in ((time, seconds), ("n", n)):
        if value <= 0:
            raise FileError(
                f"{place}: {name} = {value:g} must be above 0; leave out runs that failed"
            )
    return Run(p, seconds, n, place)


def _number(place: str, name: str, row: Mapping[str, Any], unit: str = "") -> float:
    value = from_clock(row[name]) if unit else row[name]
    try:
        plain = value.item() if hasattr(value, "item") else value
        return to_base(plain, unit) if unit else parse_quantity(plain).value
    except (UnitError, ValueError) as error:
        reason = shorten(error, 200).rstrip(".")
        raise FileError(
            f"{place}: {name} = {shorten(repr(value))}: {reason}{fix_of(value)}"
        ) from None
