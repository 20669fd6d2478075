"""Makes the datasets of the papers' tables; the figures are those that the papers print."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parents[1] / "src" / "parcast_score" / "datasets"

LARGE = (256, 512, 1024)
Line = tuple[object, ...]


def sp2() -> Iterator[Line]:
    """Yield table 1 of Uysal et al.: the real machine's seconds."""
    yield "series", "size", "work", "value", "application", "per_node", "queries", "epochs"
    for application, p, blocks, seconds in (
        ("titan", 15, 9170, 113), ("titan", 15, 27500, 347),
        ("pathfinder", 12, 9170, 166), ("pathfinder", 12, 27500, 497),
    ):  # fmt: skip
        yield application, p, blocks, seconds, application, f"{blocks}/p", "", ""
    microscope = "virtual-microscope"
    for blocks, queries, seconds in ((5000, 200, 127), (7500, 400, 243)):
        amounts = f"{blocks}/p", f"{queries}/p", queries
        yield microscope, 15, queries, seconds, microscope, *amounts


def lc_sim() -> Iterator[Line]:
    """Yield tables 2 and 3: the estimates of the paper's own simulator."""
    yield "series", "size", "work", "value", "application", "machine", "per_node", "disks"
    for application, per_node, times in (
        ("titan", 859, (182, 217, 420)), ("pathfinder", 1719, (496, 579, 881)),
        ("virtual-microscope", "", (118, 126, 138)),
    ):  # fmt: skip
        for p, seconds in zip((32, 64, 128), times, strict=True):
            series = f"{application}|table 2"
            yield series, p, p, seconds, application, "sdsc-sp", per_node, ""
    for application, disks, times in (
        ("titan", "", (1147, 2276, 4525)), ("pathfinder", "", (1579, 2342, 4621)),
        ("virtual-microscope", 1, (136, 137, 144)),
    ):  # fmt: skip
        for p, seconds in zip(LARGE, times, strict=True):
            series = f"{application}|table 3"
            yield series, p, p, seconds, application, "table3-machine", "", disks


def t800() -> Iterator[Line]:
    """Yield table 1 of van Gemund: measured seconds of concurrent transfers."""
    yield "series", "size", "value", "workload", "processes"
    transfers = (1, 1, 2, 2, 2, 3, 3, 6)
    seconds = (0.9, 1.5, 1.8, 3.0, 1.8, 2.7, 3.3, 6.0)
    for row, (count, value) in enumerate(zip(transfers, seconds, strict=True), 1):
        yield f"row {row}", count, value, f"t800-row{row}", 1


def main() -> None:
    """Write ``points.csv`` of the three."""
    tables = {"uysal-sp2": sp2(), "uysal-lc-sim": lc_sim(), "gemund-t800": t800()}
    for name, lines in tables.items():
        (HERE / name).mkdir(exist_ok=True)
        _write(HERE / name / "points.csv", list(lines))


def _write(path: Path, lines: Sequence[Line]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
