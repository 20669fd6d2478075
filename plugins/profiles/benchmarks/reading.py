"""How fast profiles are read: records or events a CPU second, beside the tools' own readers.

uv run python plugins/profiles/benchmarks/reading.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parcast_profiles.workload import read

COUNT = 200_000


def caliper(folder: Path) -> Path:
    """Write a .cali of so many regions below one another's neighbors."""
    lines = ["__rec=node,id=20,attr=10,data=276,parent=3",
             "__rec=node,id=21,attr=8,data=region,parent=20",
             "__rec=node,id=32,attr=8,data=sum#sum#time.duration.ns,parent=5"]  # fmt: skip
    for number in range(COUNT):
        parent = f",parent={99 + number}" if number % 8 else ""
        lines.append(f"__rec=node,id={100 + number},attr=21,data=f{number % 500}{parent}")
        lines.append(f"__rec=ctx,ref={100 + number},attr=32,data={number}.5")
    path = folder / "run.cali"
    path.write_text("\n".join(lines))
    return path


def events(folder: Path) -> Path:
    """Write a table of so many calls of 16 ranks."""
    lines = ["Timestamp (ns), Event Type, Name, Process"]
    for number in range(COUNT // 2):
        lines.append(f"{number}, Enter, f{number // 16 % 50}, {number % 16}")
        if number // 16 % 2:
            lines.append(f"{number}, Leave, f{number // 16 % 50}, {number % 16}")
            lines.append(f"{number}, Leave, f{number // 16 % 50 - 1}, {number % 16}")
    path = folder / "run.csv"
    path.write_text("\n".join(lines))
    return path


def rate(reader: Callable[[Path], Any], path: Path) -> float:
    """Return how many records a reader takes in a CPU second, the best of three."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        reader(path)
        seconds.append(time.process_time() - began)
    return COUNT / min(seconds)


def main() -> None:
    """Print the rates."""
    with tempfile.TemporaryDirectory() as folder:
        path = caliper(Path(folder))
        print(f"Caliper: {rate(read, path):,.0f} records a second")
        try:
            from caliperreader import read_caliper_contents
        except ImportError:
            print("caliper-reader is not installed")
        else:
            other = rate(lambda file: read_caliper_contents(str(file)), path)
            print(f"Caliper by caliper-reader: {other:,.0f} records a second")
        print(f"Pipit's table: {rate(read, events(Path(folder))):,.0f} events a second")


if __name__ == "__main__":
    main()
