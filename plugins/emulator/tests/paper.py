"""The LC-SIM columns of the paper's Tables 1 to 3, and the queries that reproduce them."""

from __future__ import annotations

import attrs

from parcast import Registry, Row


@attrs.frozen
class Entry:
    """A row of a table: the paper's estimate in seconds, and its real machine's, if any."""

    table: int
    workload: str
    machine: str
    p: int
    paper: float
    settings: dict[str, object]
    real: float | None = None
    d: int | None = None

    def ask(self, registry: Registry) -> Row:
        """Return our row."""
        (row,) = registry.compare(
            self.workload,
            self.machine,
            p=self.p,
            d=self.d,
            solvers="emulator.lc",
            settings=self.settings,
            elasticities=False,  # the tables have times alone
        ).rows
        return row


MICROSCOPE = {"bus.mode": "cut-through"}
LARGE = (256, 512, 1024, 2048, 4096, 8192)


def _blocks(count: int) -> dict[str, object]:
    return {"per_node": f"{count}/p"}


def _queries(blocks: int, queries: int) -> dict[str, object]:
    return _blocks(blocks) | {"queries": f"{queries}/p", "epochs": queries} | MICROSCOPE


ROWS = (
    Entry(1, "titan", "umd-sp2", 15, 100, _blocks(9170), 113),
    Entry(1, "titan", "umd-sp2", 15, 306, _blocks(27500), 347),
    Entry(1, "pathfinder", "umd-sp2", 12, 149, _blocks(9170), 166),
    Entry(1, "pathfinder", "umd-sp2", 12, 452, _blocks(27500), 497),
    Entry(1, "virtual-microscope", "umd-sp2", 15, 119, _queries(5000, 200), 127),
    Entry(1, "virtual-microscope", "umd-sp2", 15, 234, _queries(7500, 400), 243),
    *(
        Entry(2, "titan", "sdsc-sp", p, paper, {"per_node": 859})
        for p, paper in ((32, 182), (64, 217), (128, 420))
    ),
    *(
        Entry(2, "pathfinder", "sdsc-sp", p, paper, {"per_node": 1719})
        for p, paper in ((32, 496), (64, 579), (128, 881))
    ),
    *(
        Entry(2, "virtual-microscope", "sdsc-sp", p, paper, MICROSCOPE)
        for p, paper in ((32, 118), (64, 126), (128, 138))
    ),
    *(
        Entry(3, "titan", "table3-machine", p, paper, {})
        for p, paper in zip(LARGE, (1147, 2276, 4525, 9031, 18028, 36035), strict=True)
    ),
    *(
        Entry(3, "pathfinder", "table3-machine", p, paper, {})
        for p, paper in zip(LARGE, (1579, 2342, 4621, 9177, 18274, 36437), strict=True)
    ),
    *(
        Entry(3, "virtual-microscope", "table3-machine", p, paper, MICROSCOPE, d=1)
        for p, paper in zip(LARGE, (136, 137, 144, 136, 142, 148), strict=True)
    ),
)
