"""What ``parcast predict`` prints of a row stays readable, however much a solver says."""

from __future__ import annotations

import pytest

from parcast.cli.details import print_row
from parcast.results.row import Row


def printed(details: dict[str, object], capsys: pytest.CaptureFixture[str]) -> list[str]:
    print_row(Row(workload="w", machine="m", solver="s", p=4, d=1, time=1.0, details=details))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_short_lists_are_printed_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert "ends 1, 2.5, 3" in printed({"ends": [1.0, 2.5, 3]}, capsys)


def test_of_long_lists_the_count_and_the_range_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed(
        {"ends": [3.0, *range(1000), 5.5], "hosts": [f"n{i}" for i in range(9)]}, capsys
    )
    assert "ends 1,002 values, 0 .. 999; --json shows all" in lines
    assert "hosts 9 values, n0 .. n8; --json shows all" in lines


def test_of_many_details_of_a_kind_the_first_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = printed({"utilization": {f"link {i}": i / 100 for i in range(40)}, "w": 0.5}, capsys)
    assert sum(line.startswith("utilization.link") for line in lines) == 16
    assert "utilization, others 24; --json shows all" in lines
    assert "w 0.5" in lines
