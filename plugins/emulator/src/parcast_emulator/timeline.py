"""Timelines of small runs: what every server does when, as Perfetto and Chrome show traces."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

from parcast.errors import UnsupportedError
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.results import operation_times
from parcast_emulator.simulation import Outcome

#: Viewers become slow with more.
MOST_OPERATIONS = 100_000

#: A server of a node, what it does, and from when to when in seconds.
_Span = tuple[int, str, str, float, float]


def few(epochs: Iterable[Blocks]) -> Iterator[Blocks]:
    """Yield the epochs of a run whose timeline can be shown.

    Raises
    ------
    UnsupportedError
        If there is more than viewers can show.
    """
    operations = 0
    for blocks in epochs:
        operations += blocks.operations()
        if operations > MOST_OPERATIONS:
            raise UnsupportedError(
                f"a timeline shows up to {MOST_OPERATIONS:,} reads and computations, and here are "
                "more; use a smaller p or fewer blocks"
            )
        yield blocks


def timeline(cluster: Cluster, outcome: Outcome, *, mirrored: bool = False) -> dict[str, Any]:
    """Return a recorded simulation in the Trace Event Format; a process is a node.

    A server that does several things at once, such as a disk with channels, has several rows.
    ``mirrored`` turns the time round, as simulated writes need.
    """
    spans = list(_spans(operation_times(cluster, outcome)["ops"]))
    if mirrored:
        spans = [(*label, outcome.time - end, outcome.time - begin) for *label, begin, end in spans]  # type: ignore[misc]
    spans.sort(key=lambda span: (*span[:2], span[3]))
    return {"displayTimeUnit": "ms", "traceEvents": list(_events(spans))}


def _spans(operations: Iterable[dict[str, Any]]) -> Iterator[_Span]:
    for op in operations:
        node, block = op["node"], f"block {op['block']}"
        label = block if op["epoch"] == 0 else f"{block} of epoch {op['epoch']}"
        yield node, f"disk {op['disk']}", label, op["disk_start"], op["disk_end"]
        yield node, "bus", label, op["bus_start"], op["bus_end"]
        for send in op["sends"]:
            yield node, "port out", f"{label} to {send['dst']}", send["out_start"], send["out_end"]
            received = (send["in_start"], send["in_end"])
            yield send["dst"], "port in", f"{label} from {node}", *received
        for computation in op["computes"]:
            yield (
                computation["node"],
                "processor",
                label,
                computation["cpu_start"],
                computation["cpu_end"],
            )


def _events(spans: list[_Span]) -> Iterator[dict[str, Any]]:
    """Yield names of rows, and every span on the first row of its server that is free."""
    rows: dict[tuple[int, str, int], int] = {}
    free: dict[tuple[int, str], list[tuple[float, int]]] = {}
    for node, server, label, begin, end in spans:
        lanes = free.setdefault((node, server), [])
        if lanes and lanes[0][0] <= begin * (1 + 1e-12):
            lane = heapq.heapreplace(lanes, (end, lanes[0][1]))[1]
        else:
            lane = len(lanes)
            heapq.heappush(lanes, (end, lane))
        key = (node, server, lane)
        if key not in rows:
            rows[key] = len(rows)
            name = server if lane == 0 else f"{server} ({lane + 1})"
            yield _metadata("process_name", node, 0, f"node {node}")
            yield _metadata("thread_name", node, rows[key], name)
        yield {
            "ph": "X", "name": label, "cat": server.split()[0], "pid": node, "tid": rows[key],
            "ts": begin * 1e6, "dur": (end - begin) * 1e6,
        }  # fmt: skip


def _metadata(kind: str, node: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": node, "tid": row, "args": {"name": name}}
