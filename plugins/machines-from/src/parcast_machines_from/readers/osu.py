"""OSU micro-benchmarks between processes (``osu_latency``, ``osu_bw``, ``osu_allreduce``, ...)."""

from __future__ import annotations

import re

import attrs

from parcast_machines_from.readers.launch import before
from parcast_machines_from.records import (
    BETWEEN_TWO,
    Lines,
    Quantity,
    Reading,
    Series,
    Value,
    number,
    sections,
)

_TITLE = re.compile(r"^\s*# OSU (?P<what>.+?) Test(?: v?(?P<version>[\d.]+\S*))?\s*$")
_ROW = re.compile(r"^\s*(\d+)((?:\s+[-\w.,]+)+)\s*$")
_SHORT_SIZE = re.compile(r"(?i)^\s*(\d+\s?[kmg](?:i?b)?)\s+[\d.]+\s*$")
_MEMORY = re.compile(r"(?i)Send Buffer on (HOST|DEVICE).*Receive Buffer on (HOST|DEVICE)")
_WINDOW = re.compile(r"pairs:\s*(\d+)\s*\]\s*\[\s*window size:\s*(\d+)", re.IGNORECASE)

_UNIT = re.compile(r"(?:Latency|Bandwidth|BW|MB/s)\s*\((?P<unit>[^)]*)\)", re.IGNORECASE)

#: Units that a header may state; OSU's own are us and MB/s.
_SCALES: dict[Quantity, dict[str, float]] = {
    "s": {"us": 1e-6, "ns": 1e-9, "ms": 1e-3, "s": 1.0},
    "B/s": {"mb/s": 1e6, "b/s": 1.0, "kb/s": 1e3, "gb/s": 1e9},
}

#: What a title says, without ``MPI`` and ``-CUDA``, and what it is called here.
_BENCHMARKS: dict[str, tuple[str, Quantity, float]] = {
    "latency": ("latency", "s", 1e-6),
    "bandwidth": ("bandwidth", "B/s", 1e6),
    "bi-directional bandwidth": ("bidirectional", "B/s", 1e6),
    "multiple bandwidth / message rate": ("pairs", "B/s", 1e6),
    "multi latency": ("latency-pairs", "s", 1e-6),
    "multi pairs latency": ("latency-pairs", "s", 1e-6),
    "allreduce latency": ("allreduce", "s", 1e-6),
    "reduce latency": ("reduce", "s", 1e-6),
    "allgather latency": ("allgather", "s", 1e-6),
    "gather latency": ("gather", "s", 1e-6),
    "scatter latency": ("scatter", "s", 1e-6),
    "broadcast latency": ("bcast", "s", 1e-6),
    "reduce_scatter latency": ("reduce_scatter", "s", 1e-6),
    "all-to-all personalized exchange latency": ("alltoall", "s", 1e-6),
    "barrier latency": ("barrier", "s", 1e-6),
}
_HEADERS = ("# size", "# avg latency", "# message size")
_WINDOW_SIZE = 64  # of osu_bw, osu_bibw and osu_mbw_mr, unless they say another


@attrs.frozen
class _Section:
    title: re.Match[str]
    line: int
    stop: int  #: the line of the next title, or one after the last


def read(lines: Lines) -> Reading:
    """Return what each test of an output measured; nothing where there is none.

    Raises
    ------
    FileError
        Naming the line, if rows of several runs are mixed, or a number is none.
    """
    reading = Reading()
    for line, stop, title in sections(lines, _TITLE):
        reading += _read_section(lines, _Section(title, line, stop))
    return reading


def _read_section(lines: Lines, section: _Section) -> Reading:
    what = section.title["what"]
    name = re.sub(r"^MPI(-[A-Z]+)?\s+", "", what).lower()
    where = f"{lines.path}:{section.line}"
    if not what.startswith("MPI") or name not in _BENCHMARKS:
        return Reading(notes=(f"{where}: OSU's {what!r} says nothing of a machine; left out",))
    benchmark, quantity, scale = _BENCHMARKS[name]
    version = section.title["version"]
    scale = _stated_scale(lines, section, quantity) or scale
    values, notes = _values(lines, section, benchmark, scale)
    if not values:
        note = f"{where}: OSU's {what!r} has no rows; left out"
        return Reading(notes=(*notes, note))
    launch = before(lines, section.line)
    body = lines.lines[section.line : section.stop - 1]
    pairs = next((match for text in body if (match := _WINDOW.search(text))), None)
    buffers = next((match for text in body if (match := _MEMORY.search(text))), None)
    device = buffers is not None and "DEVICE" in {kind.upper() for kind in buffers.groups()}
    series = Series(
        benchmark,
        quantity,
        values,
        lines.path,
        f"OSU {version}" if version else "OSU",
        processes=2 if benchmark in BETWEEN_TWO - {"pairs"} else launch.processes,
        nodes=launch.nodes,
        pairs=int(pairs[1]) if pairs else None,
        window=(int(pairs[2]) if pairs else _WINDOW_SIZE) if quantity == "B/s" else None,
        memory="device" if device else "host",
        within="node" if launch.nodes == 1 and benchmark in BETWEEN_TWO else "",
    )
    return Reading((series,), notes=notes)


def _stated_scale(lines: Lines, section: _Section, quantity: Quantity) -> float | None:
    """Return what the unit of the header is in base units; None where it states none.

    Raises
    ------
    FileError
        If it is no unit of such values.
    """
    for line in range(section.line + 1, section.stop):
        text = lines.lines[line - 1]
        if not text.lstrip().lower().startswith(_HEADERS):
            continue
        stated = _UNIT.search(text)
        if stated is None:
            return None
        known = _SCALES[quantity]
        if (unit := stated["unit"].strip().lower().replace("µ", "u")) not in known:
            raise lines.wrong(line, f"the unit is {stated['unit']!r}; known are {', '.join(known)}")
        return known[unit]
    return None


def _values(
    lines: Lines, section: _Section, benchmark: str, scale: float
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    values: list[Value] = []
    notes: list[str] = []
    started, decimals = False, 0
    for line in range(section.line + 1, section.stop):
        text = lines.lines[line - 1]
        if text.lstrip().lower().startswith(_HEADERS):
            started = True
            continue
        row = _ROW.match(text)
        if benchmark == "barrier" and started and not values:
            if re.fullmatch(r"\s*[\d.]+(\s+[\d.]+)*\s*", text):
                values.append(
                    Value(0.0, number(lines, line, text.split()[0], "time") * scale, line)
                )
            continue
        if not row:
            if started and (short := _SHORT_SIZE.match(text)):
                raise lines.wrong(line, f"the size is {short[1]!r}; write it in bytes, as OSU does")
            if started and re.match(r"^\s*\d+\s*$", text):
                notes.append(
                    f"{lines.path}:{line}: the row of {text.strip()} bytes has no value; left out"
                )
            continue
        if not started:
            if values:
                raise lines.wrong(line, "a row of numbers stands above its header")
            continue
        cells = row[2].split()
        if lines.is_cut(line) and (not values or _decimals(cells[-1]) != decimals):
            notes.append(f"{lines.path}:{line}: the file ends within this row; left out")
            continue
        size = float(row[1])
        value = number(lines, line, cells[0], "value") * scale
        if value == 0:
            notes.append(f"{lines.path}:{line}: the value of {row[1]} bytes is 0; left out")
            continue
        if values and size <= values[-1].size:
            raise lines.wrong(
                line,
                f"{row[1]} bytes follow {values[-1].size:.0f}: the rows are of several runs; "
                "write each run into a file of its own",
            )
        decimals = _decimals(cells[-1])
        values.append(Value(size, value, line))
    return tuple(values), tuple(notes)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])
