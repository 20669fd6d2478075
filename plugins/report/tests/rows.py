"""Rows made up for plots."""

from __future__ import annotations

from parcast import Parts, Results, Row


def row(p=1, d=1, time=None, **more):
    """Return a row of a program whose work is divided by p and whose I/O is divided by d."""
    parts = Parts(compute=64 / p, communication=0.5 * p, io=8 / d, synchronization=0.01)
    time = parts.total if time is None else time
    usual = {"workload": "w", "machine": "m", "solver": "s", "binding": "processor"}
    if 0.5 * p > 64 / p:
        usual["binding"] = "network"
    speedup = 72.51 / time if time else None
    return Row(p=p, d=d, time=time, **{"parts": parts, "speedup": speedup, **usual, **more})


def results(*rows, **provenance):
    return Results(tuple(rows), provenance)


GRID = results(*(row(p, d) for p in (1, 2, 4, 8, 16) for d in (1, 2, 4)))
CURVE = results(*(row(p) for p in (1, 2, 4, 8)))
