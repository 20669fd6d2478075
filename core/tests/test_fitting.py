"""Tables as people read them: no wider than the terminal, what has no time below."""

from __future__ import annotations

import attrs
import pytest

from parcast import Parts, Results, Row, Status
from parcast.cli.output import print_results
from parcast.results.fitting import fitted

ROW = Row(
    workload="a-program",
    machine="a-machine",
    solver="emulator.tc",
    p=64,
    d=3,
    time=2.5,
    speedup=40.0,
    parts=Parts(1.0, 0.5, 0.25, 0.75),
    binding="nodes.memory_bandwidth",
)
BOUND = attrs.evolve(ROW, solver="pamela.bound", time=2.0, lower=2.0, parts=None)
REFUSED = attrs.evolve(
    ROW, solver="spmd.sio", time=None, parts=None, binding=None, speedup=None,
    status=Status.REFUSED, message="no network",
)  # fmt: skip
ROWS = (ROW, BOUND, REFUSED, attrs.evolve(ROW, p=128), attrs.evolve(REFUSED, p=128))


ANSWERED = Results(ROWS).answered()


def lines(capsys, rows, **options):
    print_results(Results(tuple(rows)), **options)
    return capsys.readouterr().out.splitlines()


def test_without_a_width_all_columns_are_there():
    header, _ = ANSWERED.table()
    assert {"compute", "between", "speedup", "bottleneck"} <= {*header}


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 140])
def test_no_line_is_longer_than_the_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = lines(capsys, ROWS)
    assert max(map(len, shown)) <= width
    assert any("emulator.tc" in line and "2.5 s" in line for line in shown)


def test_the_parts_are_shown_together_or_not_at_all():
    for width in range(40, 200):
        header = fitted(ANSWERED, width).header
        assert ("compute" in header) == ("synchronization" in header)


def test_no_column_is_left_out_that_has_room(monkeypatch, capsys):
    wide = fitted(ANSWERED, 1000)
    size = {
        head: max(map(len, (head, *(row[index] for row in wide.rows))))
        for index, head in enumerate(wide.header)
    }
    for width in range(40, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        left_out = fitted(ANSWERED, width).left_out
        table = [line for line in lines(capsys, ROWS)[2:] if line][: len(wide.rows) + 1]
        for head in {*left_out} - {"compute", "communication", "io", "synchronization"}:
            assert max(map(len, table)) + 2 + size[head] > width - len(">= ")


def test_a_bound_is_told_from_estimates_where_its_interval_has_no_room():
    table = fitted(ANSWERED, 60)
    assert "between" in table.left_out
    times = [row[table.header.index("time")] for row in table.rows]
    assert times == ["2.5 s", ">= 2 s", "2.5 s"]


def test_what_has_no_time_is_told_once_below_with_its_places():
    assert Results(ROWS).unanswered() == ["spmd.sio refused: no network"]
    answered = attrs.evolve(ROW, p=32)
    assert Results((*ROWS, answered)).unanswered() == [
        "spmd.sio refused at p = 64, 128: no network"
    ]


def test_the_machine_of_a_refusal_is_named_where_another_answers():
    elsewhere = attrs.evolve(ROW, machine="another")
    refused = attrs.evolve(REFUSED, p=64)
    assert Results((elsewhere, refused)).unanswered() == [
        "spmd.sio refused on a-machine: no network"
    ]


def test_rows_without_any_time_are_sentences_alone(capsys):
    assert lines(capsys, [REFUSED]) == [
        "a-program on a-machine",
        "",
        "spmd.sio refused: no network",
    ]


def test_wide_shows_all(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    assert "synchronization" in "\n".join(lines(capsys, ROWS, wide=True))
    narrow = "\n".join(lines(capsys, ROWS))
    assert "no room for between, efficiency, compute, communication" in narrow
    assert "a-program on a-machine, d = 3" in narrow


def test_what_a_bound_gives_by_division_is_marked():
    rate = {"throughput": {"items": "cells", "per_second": 8.0}}
    rows = [attrs.evolve(row, details=rate) for row in (ROW, BOUND)]
    header, cells = Results(tuple(rows)).table()
    assert [row[header.index("speedup")] for row in cells] == ["40", "<= 40"]
    assert [row[header.index("cells/s")] for row in cells] == ["8", "<= 8"]


def test_from_where_to_where_comes_before_what_matters_less():
    ranged = attrs.evolve(ROW, details={"range": [1.0, 2.5]})
    table = fitted(Results((ranged,)), 80)
    assert table.rows[0][table.header.index("between")] == "1 s .. 2.5 s"
    assert "compute" in table.left_out
