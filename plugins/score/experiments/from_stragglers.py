"""Makes ``straggler-job`` from the public table of a job: ``from_stragglers.py trace-ST.parquet``.

The table is that of StragglerAnalysis (ByteDance-Seed, Apache-2.0), data/trace-ST.parquet: a row
for each operation of a device in a step, with its start and duration in seconds.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyarrow import parquet

FOLDER = Path(__file__).parents[1] / "src" / "parcast_score" / "datasets" / "straggler-job"

#: The first ten steps calibrate; the operations of the last of them are the solvers' workload.
CALIBRATING = 10


def main(path: Path) -> None:
    """Write the steps' times, and the operations of the last one that calibrates."""
    operations: dict[int, list[Mapping[str, Any]]] = {}
    for row in parquet.read_table(path).to_pylist():
        operations.setdefault(row["step"], []).append(row)
    steps = sorted(operations)
    points = [
        {"series": "ST", "size": step, "value": f"{seconds(operations[step]):.6g}", "work": step,
         "processes": len({row["rank"] for row in operations[step]})}
        for step in steps
    ]  # fmt: skip
    write(FOLDER / "points.csv", points)
    write(FOLDER / "step.csv", operations[steps[CALIBRATING - 1]])
    print(f"{len(steps)} steps; blind: {steps[CALIBRATING:]}; calibrate: {steps[:CALIBRATING]}")


def seconds(rows: Iterable[Mapping[str, Any]]) -> float:
    """Return the time from the first start to the last end."""
    return max(row["start_ts"] + row["duration"] for row in rows) - min(
        row["start_ts"] for row in rows
    )


def write(path: Path, rows: list[Any]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
