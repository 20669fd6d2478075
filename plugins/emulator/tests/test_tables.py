"""The paper's Tables 1 to 3. Their rows were used to choose the parameters: fitted, not blind."""

from __future__ import annotations

from pathlib import Path

import pytest

import parcast_emulator
from parcast import Registry
from parcast.testing import turn

from .paper import ROWS

REGISTRY = Registry([parcast_emulator])
SMALL = [row for row in ROWS if row.p <= 1024]


@pytest.mark.parametrize(
    "entry", turn(SMALL, 2), ids=lambda row: f"{row.table}-{row.workload}-{row.p}"
)
def test_a_row_is_within_nine_percent_of_the_paper(entry):
    row = entry.ask(REGISTRY)
    assert row.status.value == "ok", row.message
    within = 0.08 if entry.workload == "virtual-microscope" else 0.09
    assert row.time == pytest.approx(entry.paper, rel=within)
    binding = "storage" if entry.workload == "virtual-microscope" else "processor"
    assert row.details.get("binding", row.binding) == binding
    assert told(entry) == [f"{row.time:.1f}", f"{row.time / entry.paper - 1:+.1%}"]


def told(entry):
    """Return our time and the error, as the page of the package tells them."""
    page = (Path(__file__).parent.parent / "README.md").read_text()
    start = f"| {entry.table} | {entry.workload} | {entry.p} | {entry.paper} | "
    (line,) = (line for line in page.splitlines() if line.startswith(start))
    return line.removeprefix(start).removesuffix(" |").split(" | ")


def test_the_page_tells_every_row_within_the_bound():
    for entry in ROWS:
        within = 0.08 if entry.workload == "virtual-microscope" else 0.09
        time, error = told(entry)
        assert abs(float(time) / entry.paper - 1) < within
        assert error == f"{float(error.removesuffix('%')):+.1f}%"


LARGE = [row for row in ROWS if row not in SMALL and row.workload != "virtual-microscope"]


@pytest.mark.parametrize("entry", LARGE, ids=lambda one: f"{one.table}-{one.workload}-{one.p}")
def test_the_closed_form_gives_the_largest_rows(entry):
    from parcast import Query

    machine, workload = REGISTRY.machine(entry.machine), REGISTRY.workload(entry.workload)
    query = Query(workload=workload, machine=machine, p=entry.p, d=4)
    assert workload.content.closed_form(query) == pytest.approx(entry.paper, rel=0.03)


@pytest.mark.parametrize("p", [256, 512])
def test_the_closed_form_is_the_simulated_time_of_large_machines(p):
    (row,) = REGISTRY.compare(
        "titan", "table3-machine", p=p, solvers="emulator.lc", elasticities=False
    ).rows
    assert row.time == pytest.approx(row.details["closed_form"], rel=1e-3)


def test_the_growth_is_linear_because_a_polar_cell_meets_a_ring_of_all_blocks():
    rows = REGISTRY.compare(
        "titan", "table3-machine", p=[256, 512, 1024], solvers="emulator.lc", elasticities=False
    )
    first, second, third = (row.time for row in rows.rows)
    assert second / first == pytest.approx(2, rel=0.01)
    assert third / second == pytest.approx(2, rel=0.01)
    orbits = REGISTRY.workload("titan").content.titan.orbits
    assert orbits.hottest(orbits.cells("equal-area", 8192, 0)) == pytest.approx(1 / orbits.rings)


STUDIES = sorted((Path(parcast_emulator.__file__).parent / "studies").glob("*.toml"))


def test_the_four_parts_of_figure_3_are_studies(tmp_path):
    assert [file.stem for file in STUDIES] == [f"figure-3-{part}" for part in "abcd"]
    found = {
        file.stem[-1]: REGISTRY.study(file, cache=tmp_path, executor="threads:1").rows
        for file in STUDIES
    }
    for rows in found.values():
        assert len(rows) == 4
        assert all(row.status.value == "ok" for row in rows)
    scaled, fixed, ratio, microscope = found.values()
    assert fixed[0].time == scaled[0].time  # 14K blocks on 16 nodes in both
    assert fixed[0].time > fixed[1].time > fixed[2].time
    assert [row.binding for row in ratio] == ["processor"] * 3 + ["storage"]
    assert [row.details["operations"] / row.p for row in microscope] == [2 * 25 * 10] * 4
