"""Tables of medians by benchmark and size, as studies and ``mpi measure`` write them (CSV)."""

from __future__ import annotations

import csv
from collections.abc import Mapping

from parcast_machines_from.records import Lines, Quantity, Reading, Series, Value, number

_NEEDED = ("role", "system", "application", "nodes", "message_bytes", "metric", "median", "unit")

_BENCHMARKS: dict[str, tuple[str, Quantity]] = {
    "osu_latency": ("latency", "s"),
    "osu_bw": ("bandwidth", "B/s"),
    "osu_allreduce": ("allreduce", "s"),
    "stream_triad_node_sum": ("triad", "B/s"),
    "stream_triad_one_process": ("triad-core", "B/s"),
    "stream_triad_per_gpu": ("triad", "B/s"),
}
_SCALES: dict[str, tuple[Quantity, float]] = {
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "B/s": ("B/s", 1.0),
    "MB/s": ("B/s", 1e6),
    "GB/s": ("B/s", 1e9),
    "FLOP/s": ("FLOP/s", 1.0),
}

#: What ``parcast mpi measure`` calls its benchmarks, as they are called here.
_OWN = frozenset({
    "latency", "bandwidth", "pairs", "sendrecv", "exchange", "allreduce", "reduce", "bcast",
    "alltoall", "allgather", "barrier", "triad", "gemm", "write", "write-shared",
})  # fmt: skip
_OWN_METRIC = "mpi measure"

#: What the end of a benchmark's name says of its buffers.
_MEMORY = {"_hh": "host", "_dd": "device"}


def read(lines: Lines) -> Reading:
    """Return the rows with ``role`` input, by system, benchmark and number of nodes.

    Raises
    ------
    FileError
        Naming the line, if a row has another number of cells than the head, or no number.
    """
    rows = csv.reader(lines.lines)
    head = next(rows, [])
    if not set(_NEEDED) <= set(head):
        return Reading()
    groups: dict[tuple[str, ...], list[tuple[Value, Mapping[str, str]]]] = {}
    for line, cells in enumerate(rows, 2):
        if not cells:
            continue
        if len(cells) != len(head):
            raise lines.wrong(line, f"{len(cells)} cells stand below {len(head)} heads")
        row = dict(zip(head, cells, strict=True))
        if row["role"] != "input" or _benchmark(row) is None or row["metric"] == "wrapper_seconds":
            continue
        key = (row["system"], row["application"], row["nodes"])
        groups.setdefault(key, []).append((_value(lines, line, row), row))
    return Reading(tuple(_series(lines, key, group) for key, group in groups.items()))


def _benchmark(row: Mapping[str, str]) -> tuple[str, Quantity, str] | None:
    name, memory = row["application"], ""
    for ending, kind in _MEMORY.items():
        if name.lower().endswith(ending):
            name, memory = name[: -len(ending)], kind
    if row["metric"] == _OWN_METRIC and name in _OWN:  # who reads the value refuses its unit
        return name, _SCALES.get(row["unit"], _SCALES["s"])[0], "host"
    if name not in _BENCHMARKS:
        return None
    return (*_BENCHMARKS[name], memory or ("device" if name.endswith("per_gpu") else "host"))


def _value(lines: Lines, line: int, row: Mapping[str, str]) -> Value:
    if row["unit"] not in _SCALES:
        raise lines.wrong(line, f"unit is {row['unit']!r}; use {', '.join(_SCALES)}")
    scale = _SCALES[row["unit"]][1]
    texts = {name: row.get(name) or row["median"] for name in ("median", "min", "max")}
    median, low, high = (number(lines, line, text, name) * scale for name, text in texts.items())
    size = number(lines, line, row["message_bytes"] or "0", "message_bytes")
    repeats = int(number(lines, line, row.get("n") or "1", "n", least=1))
    rounds = tuple(
        number(lines, line, text, "rounds") * scale for text in (row.get("rounds") or "").split()
    )
    return Value(size, median, line, low, high, repeats, rounds)


def _series(
    lines: Lines, key: tuple[str, ...], group: list[tuple[Value, Mapping[str, str]]]
) -> Series:
    row = group[0][1]
    benchmark = _benchmark(row)
    assert benchmark is not None
    nodes = int(number(lines, group[0][0].line, key[2], "nodes", least=1))
    pair = benchmark[0] in {"latency", "bandwidth"}
    processes = row.get("processes") or ""
    per_node = row.get("ranks_per_node") or ""
    count = int(processes) if processes.isdigit() else None
    if count is None and per_node.isdigit():
        count = nodes * int(per_node)
    is_ours = row["metric"] == _OWN_METRIC
    window = row.get("window") or ""
    return Series(
        benchmark[0],
        benchmark[1],
        tuple(sorted((value for value, _ in group), key=lambda value: value.size)),
        lines.path,
        _OWN_METRIC if is_ours else "OSU" if row["application"].startswith("osu") else "STREAM",
        processes=2 if pair else None if row["application"].startswith("stream") else count,
        nodes=nodes,
        pairs=(count or 2) // 2 if benchmark[0] == "pairs" else None,
        window=int(window) if window.isdigit() else 64 if benchmark[0] == "bandwidth" else None,
        memory="device" if benchmark[2] == "device" else "host",
        within=row.get("within") or "",
        system=key[0],
    )
