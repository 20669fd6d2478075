"""The table of benchmarks, as ``parcast machine check`` and ``from`` read it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parcast_mpi.measuring.sampling import WINDOW

#: Heads of the table.
COLUMNS = (
    "role", "system", "application", "within", "nodes", "processes", "window", "message_bytes",
    "metric", "median", "min", "max", "n", "unit", "rounds",
)  # fmt: skip

_UNITS = {"gemm": "FLOP/s"}


def table_text(answers: Sequence[Mapping[str, Any]], processes: int) -> str:
    """Return a row for each benchmark and size: the median of its rounds, the least, the largest.

    All rounds follow, since what benchmarks have in common differs between them.

    Parameters
    ----------
    answers
        Name, size, unit and values of each.
    processes
        How many ran.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for answer in answers:
        name, values = answer["name"], answer["values"]
        pair = name in {"latency", "bandwidth"}
        unit = _UNITS.get(name, "B/s") if answer["unit"] == "per_s" else "s"
        writer.writerow([
            "input", "", name, "node", 1, 2 if pair else processes,
            WINDOW if name in {"bandwidth", "pairs"} else "", answer["size"], "mpi measure",
            *(f"{value:.5g}" for value in (np.median(values), min(values), max(values))),
            len(values), unit, " ".join(f"{value:.5g}" for value in values),
        ])  # fmt: skip
    return text.getvalue()
