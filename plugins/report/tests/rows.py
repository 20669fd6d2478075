"""Rows made up for plots."""

from __future__ import annotations

import attrs

from parcast import Parts, Results, Row, Status


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


def whole():
    """Return results with everything that a row may have."""
    rows = []
    for p in (1, 2, 4, 8, 16):
        sure = row(p, solver="a.bound", lower=20 / p, upper=90 / p)
        sampled = row(
            p, solver="b.sim", ci=(70 / p, 75 / p), notes=("a note",),
            quantiles={"0.05": 60 / p, "0.5": 72 / p, "0.95": 99 / p},
            details={"assumptions": ["messages never queue"]}, solve_seconds=0.25,
        )  # fmt: skip
        rows += [
            attrs.evolve(one, measured=80 / p, error=one.time * p / 80 - 1)
            for one in (sure, sampled)
        ]
    refused = row(2, solver="c.none", parts=None)
    reason = "there is no network"
    rows.append(
        attrs.evolve(refused, time=None, speedup=None, status=Status.REFUSED, message=reason)
    )
    origin = {
        "parcast": "0.1.0", "plugins": {"parcast-a": "1"}, "seed": 0, "settings": {"n": 64},
        "workloads": [{"name": "w", "sha256": "0", "data": {"n": 64}}],
        "run": {"time": "2002-01-01", "host": "h", "command": ["parcast", "compare"]},
    }  # fmt: skip
    return results(*rows, **origin)


#: Names that would break a page, a plot, or both, if one were not escaped.
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$\\frac{",
    "{{ 7 * 7 }}",
    "_hidden & \x00\x1b[31m\u202e\ud800",
)
