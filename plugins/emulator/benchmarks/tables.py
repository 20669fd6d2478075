"""Print the LC-SIM columns of the paper's Tables 1 to 3 beside ours, as Markdown.

    python benchmarks/tables.py [most processes]

The paper's simulations ran on an Alpha of 275 MHz; ours take seconds, the largest about 1.5 GB.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.paper import ROWS

from parcast import Registry


def main(most: int) -> None:
    """Print a row for each of the paper's up to this many processes."""
    registry = Registry()
    print("| table | application | p | paper [s] | here [s] | error | solved in [s] |")
    print("|---|---|---|---|---|---|---|")
    for entry in ROWS:
        if entry.p > most:
            continue
        begun = time.perf_counter()
        row = entry.ask(registry)
        seconds = time.perf_counter() - begun
        assert row.time is not None, row.message
        error = row.time / entry.paper - 1
        print(
            f"| {entry.table} | {entry.workload} | {entry.p} | {entry.paper:g} | {row.time:.1f} "
            f"| {error:+.1%} | {seconds:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8192)
