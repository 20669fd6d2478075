"""Columns of tables of times as people write them: other names, units in heads, repeats, rates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from parcast.errors import FileError, UnitError, shorten
from parcast.quantities import to_base
from parcast_scaling.rates import unit_of_rate

Row = tuple[str, Mapping[str, Any]]

#: The ends of files that are tables, of times or of amounts.
TABLES = (".csv", ".tsv", ".dat", ".md", ".org")

#: Names of the column of sizes, the one that counts most finely first, and of that of times.
SIZES = ("p", "processes", "ranks", "tasks", "cores", "gpus", "threads", "nodes")
TIMES = ("time", "seconds", "walltime", "wall time", "wall_time", "runtime", "elapsed", "duration")

#: Columns that follow from the times, and are not used.
DERIVED = ("speedup", "efficiency", "std", "stddev", "stdev", "std-dev", "error", "ideal")

#: ``Relative speed increase``, ``Parallel Efficiency``, ``speed-up (x)``.
_DERIVED = re.compile(r"(?:relative |parallel |scaling )*(?:speed ?up|speed increase|efficiency)")

#: ``time (ms)`` or ``time [s]``.
_WITH_UNIT = re.compile(r"(.*\S)\s*[(\[]\s*([^)\]]+?)\s*[)\]]")

#: ``time1``, ``time_2``, ``time.3``, ``run 4``.
_REPEATED = re.compile(rf"({'|'.join(TIMES)}|run|repeat)[ _.-]?\d+")

#: ``No. of cores``, ``num_procs``, ``mpi_ranks``, ``ntasks``, ``#nodes``.
_SIZE = re.compile(
    r"(?:total )?(?:(?:number of|no\.? of|no\.?|num|nr|#) ?)?(?:mpi |compute )?"
    r"(?:n ?(?=[a-z]{3}))?(p|np|procs?|process(?:es)?|processors|ranks?|tasks?|cores?|v?cpus?|"
    r"gpus?|threads?|nodes?)"
)

#: What other words for sizes are called here.
_CALLED = {"np": "processes", "proc": "processes", "process": "processes",
           "processor": "processes", "cpu": "cores", "vcpu": "cores"}  # fmt: skip

#: ``total_time``, ``Wall-clock time``, ``time_s``, ``elapsed_sec``, ``solver running time``.
_TIME = re.compile(
    r"(?:(?:total|mean|average|avg|median|wall|clock|wallclock|elapsed|execution|exec|running|"
    r"solver|loop|run|step|iteration|simulation) ?)*(?:times?|wallclock|walltime|runtime|elapsed|"
    r"seconds|secs?)(?: (s|secs?|seconds|ms|us|min|minutes|h|hours))?"
)

_SECONDS = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "minutes": "min", "hours": "h"}


@attrs.frozen
class Plain:
    """The rows of a table under the names that columns have here."""

    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()
    of_unit: str = ""  #: the unit of work that times are of, where the table has a rate


def plain_rows(where: str, rows: Sequence[Row]) -> Plain:
    """Return the rows with a time each, under the names that columns have here.

    A rate of work becomes the time of its unit of work, where there is no column of times.

    Raises
    ------
    FileError
        If the first line is no header, or does not tell columns apart.
    """
    heads = [str(name) for name in rows[0][1]]
    _check_heads(where, heads)
    plain = _plain_heads(where, heads)
    if len(set(plain.values())) < len(heads):  # p and P: they stay as they are
        return Plain(tuple(rows))
    repeats = [head for head in heads if _REPEATED.fullmatch(plain[head][0])]
    if len(repeats) + any(name in TIMES for name, _ in plain.values()) < 2:
        repeats = []
    several = [*(head for head in heads if repeats and plain[head][0] in TIMES), *repeats]
    others = [head for head in heads if head not in several]
    expanded: list[Row] = []
    for place, row in rows:
        known = {plain[head][0]: _cell(row[head], plain[head][1]) for head in others if head in row}
        if not several:
            expanded.append((place, known))
        expanded += [
            (place, {**known, "time": _cell(row[head], plain[head][1])})
            for head in several
            if str(row[head]).strip()  # one repeat less
        ]
    derived = [head for head in others if plain[head][0] in DERIVED]
    remarks = (f"not used: {', '.join(derived)}, which times tell",) if derived else ()
    if any(name in TIMES for name, _ in plain.values()) or repeats:
        return Plain(tuple(expanded), remarks)
    return attrs.evolve(_times_of_rate(where, heads, expanded), remarks=remarks)


def _plain_heads(where: str, heads: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the name here of each column, and its unit where its head has one.

    Names of :data:`SIZES` and :data:`TIMES` are taken before others that mean the same.
    """
    plain = {head: _plain(head) for head in heads}
    if not any(name in TIMES or _REPEATED.fullmatch(name) for name, _ in plain.values()):
        alike = {head: unit for head in heads if (unit := _unit_of_time(head)) is not None}
        if len(alike) > 1:
            raise FileError(
                f"{where}: {' and '.join(alike)} are all times; say which: "
                f"{where}#time={next(iter(alike))}"
            )
        plain |= {head: ("time", unit) for head, unit in alike.items()}
    if "p" not in {name for name, _ in plain.values()}:
        sizes = {head: name for head in heads if (name := _size(head))}
        if len(set(sizes.values())) == len(sizes):
            plain |= {head: (name, "") for head, name in sizes.items()}
    return plain


def _size(head: str) -> str | None:
    """Return what a column counts, where its head is that of a size."""
    words = re.sub(r"[ _-]+", " ", head.strip().lower())
    if (match := _SIZE.fullmatch(words)) is None:
        return None
    singular = match[1] if match[1] in {"p", "np", "process"} else match[1].removesuffix("s")
    singular = "process" if singular == "processe" else singular
    return _CALLED.get(singular, singular if singular == "p" else f"{singular}s")


def _unit_of_time(head: str) -> str | None:
    """Return the unit in the head of a column of times, "" where there is none; else None."""
    with_unit = _WITH_UNIT.fullmatch(head)
    name, unit = with_unit.groups() if with_unit else (head, "")
    match = _TIME.fullmatch(re.sub(r"[ _-]+", " ", name.strip().lower()))
    if match is None:
        return None
    unit = (match[1] or unit).lower()
    return _SECONDS.get(unit, unit)


def _times_of_rate(where: str, heads: Sequence[str], rows: Sequence[Row]) -> Plain:
    """Return rows with the time of a unit of work in place of a rate, where one column is one."""
    units = {}
    for head in heads:
        with_unit = _WITH_UNIT.fullmatch(head)
        name, unit = with_unit.groups() if with_unit else (head, "")
        if rate := unit_of_rate(name, unit):
            units[head] = rate
    rates = {head: unit for head, unit in units.items() if head.strip().lower() == "rate"} or units
    if not rates:
        return Plain(tuple(rows))
    if len(rates) > 1:
        raise FileError(
            f"{where}: {' and '.join(rates)} are all rates; say which: "
            f"{where}#rate={next(iter(rates))}"
        )
    ((head, (unit, seconds)),) = rates.items()
    if any(name.lower() == "n" for name in heads):
        raise FileError(
            f"{where}: beside the rate {head!r} there is a column n; write times, or leave n out, "
            "with --weak if the work grows as p"
        )
    times = []
    for place, row in rows:
        plain = {name: value for name, value in row.items() if name not in units}
        times.append((place, {**plain, "time": _time_of(place, head, row[head], seconds)}))
    return Plain(tuple(times), of_unit=unit)


def _time_of(place: str, head: str, value: Any, seconds: float) -> float:
    """Return the time of a unit of work."""
    try:
        rate = to_base(value, "1")
    except (UnitError, ValueError):
        rate = 0.0
    if not rate > 0:
        raise FileError(
            f"{place}: {head} = {shorten(repr(value))} is no rate above 0{fix_of(value)}"
        )
    return seconds / rate


def _check_heads(where: str, heads: Sequence[str]) -> None:
    if all(re.fullmatch(r"[\d.,+\-eE\s]+", head) for head in heads):
        raise FileError(
            f"{where}: its first line is no header but {shorten(', '.join(heads))}; write names of "
            "columns above it, such as p,time"
        )
    words = heads[0].lower().split()
    if len(heads) == 1 and {*words} & {*SIZES} and {*words} & {*TIMES}:
        raise FileError(
            f"{where}: nothing but blanks divides {heads[0]!r}; write commas, semicolons or tabs"
        )


def _plain(head: str) -> tuple[str, str]:
    """Return a column's name in lower case, and its unit where it has one."""
    match = _WITH_UNIT.fullmatch(head)
    name, unit = match.groups() if match else (head, "")
    lower = name.strip().lower()
    if lower in {*SIZES, *TIMES, *DERIVED, "n"} or _REPEATED.fullmatch(lower):
        return lower, _SECONDS.get(unit.lower(), unit)
    if match := _DERIVED.fullmatch(re.sub(r"[ _-]+", " ", lower)):
        return match[0].rsplit(" ")[-1].replace("up", "speedup"), ""
    return head, ""


def _cell(value: Any, unit: str) -> Any:
    """Return a value with the unit of its column, where it has none of its own."""
    return f"{value} {unit}" if unit and re.fullmatch(r"[\d.eE+-]+", str(value)) else value


def fix_of(value: Any) -> str:
    """Return what to do about a value that is no number, as the end of a sentence."""
    text = str(value).strip()
    if re.search(r"\d,\d", text):
        return "; write a decimal point, and nothing between thousands"
    if re.fullmatch(r"\d+\s*(nodes?|ranks?|processes|procs?|cores?)", text):
        return "; write the number alone"
    if not re.search(r"\d", text):
        return "; leave out runs that failed"
    return ""


def from_clock(value: Any) -> Any:
    """Return ``01:30:00`` in seconds, and anything else as it is."""
    match = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d(?:\.\d+)?)", str(value).strip())
    if match is None:
        return value
    days, hours, minutes, seconds = (float(word or 0) for word in match.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + seconds
