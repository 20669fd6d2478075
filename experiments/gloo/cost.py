"""What an injected delay cost in real runs of `train.py`, and what parcast says that it cost.

    python cost.py FOLDER ...

Measured: the steps with the delay less their neighbors without it, by the clock of rank 0 alone.
Predicted: the recorded run less the run in which the slowest rank computes like the others, from
the traces of the profiler alone, whose clocks are each rank's own.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path


def measured(file: Path, every: int = 2) -> tuple[float, float]:
    """Return the seconds that all delayed steps lost, and the standard error of that."""
    with file.open(encoding="utf-8") as rows:
        seconds = [float(row["seconds"]) for row in csv.DictReader(rows)]
    lost = [
        seconds[number] - (seconds[number - 1] + seconds[number + 1]) / 2
        for number in range(every, len(seconds) - 1, every)
    ]
    count = (len(seconds) + every - 1) // every
    return statistics.fmean(lost) * count, statistics.stdev(lost) / len(lost) ** 0.5 * count


def predicted(folder: Path) -> tuple[int, float]:
    """Return the slowest rank, and the seconds that it cost."""
    line = ["parcast", "perturb", "slowest", str(folder), "--json"]
    done = subprocess.run(line, check=True, capture_output=True, text=True)  # noqa: S603
    answer = json.loads(done.stdout)
    rank, without = next(iter(answer["without"].items()))
    return int(rank), (answer["before"] - without) * answer["tick"]


def main() -> None:
    """Print a line for each folder."""
    print("run,slowest rank,measured s,standard error,predicted s,error %")
    for name in sys.argv[1:]:
        folder = Path(name)
        lost, error = measured(folder.with_name(f"{folder.name}-steps.csv"))
        rank, cost = predicted(folder)
        print(
            f"{folder.name},{rank},{lost:.4f},{error:.4f},{cost:.4f},{100 * (cost / lost - 1):+.1f}"
        )


if __name__ == "__main__":
    main()
