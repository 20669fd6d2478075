"""Tables as people write them: one sentence where they are wrong, and no wrong number elsewhere."""

from __future__ import annotations

import re

import pytest

from parcast.errors import FileError
from parcast_scaling.reading import read_times

RUNS = [(4, 10.0), (8, 5.0), (16, 3.0)]
REPEATED = [(4, 10.0), (4, 11.0), (8, 5.0), (8, 5.2), (16, 3.0)]


@pytest.fixture
def read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(text, part=""):
        (tmp_path / "t.csv").write_text(text)
        return read_times("t.csv" + part)

    return call


@pytest.mark.parametrize(
    "text",
    [
        "p,time (ms)\n4,10000\n8,5 s\n16,3000\n",
        "P , Time [s]\n4,10\n8,5\n16,3\n",
        "Ranks;Walltime (sec)\n4;10\n8;5\n16;3\n",
        "nodes\truntime (minutes)\n4\t10 s\n8\t5 s\n16\t0.05\n",
        "p,time\n4,00:00:10\n8,0:00:05\n16,0-00:00:03\n",
        "p,elapsed,speedup,efficiency\n4,10,1,100 %\n8,5,2,100 %\n16,3,3.33,83 %\n",
    ],
)
def test_names_units_and_clocks_tell_the_same_runs(text, read):
    assert [(run.p, run.seconds) for run in read(text).runs] == RUNS


@pytest.mark.parametrize(
    "text",
    [
        "p,time1,time2\n4,10,11\n8,5,5.2\n16,3,\n",
        "p,time,time.1\n4,10,11\n8,5,5.2\n16,3,\n",
        "p,run 1 (ms),run 2 (s)\n4,10000,11\n8,5000,5.2\n16,3000,\n",
        "p,seconds_1,seconds_2\n4,10,11\n8,5,5.2\n16,3,\n",
    ],
)
def test_repeats_in_columns_of_their_own_are_runs(text, read):
    times = read(text)
    assert [(run.p, run.seconds) for run in times.runs] == REPEATED
    assert times.runs[-1].place == "t.csv:4"


def test_amounts_beside_repeats_belong_to_each_of_them(read):
    times = read("p,flops,time1,time2\n4,9,10,11\n8,5,5,5.2\n16,2,3,\n")
    assert [row["flops"] for row in times.amounts] == [9, 9, 5, 5, 2]


def test_what_is_not_used_is_named(read):
    assert read("p,time,Efficiency\n4,10,1\n8,5,1\n").remarks == (
        "not used: Efficiency, which times tell",
    )
    assert read("p,time\n4,10\n8,5\n").remarks == ()
    assert read("p,run1\n4,10\n8,5\n") is None  # one column is no repeat, but an amount
    assert read("p,visits (ms)\n4,10\n8,5\n") is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p;time\n4;10,5\n", "number with a unit; write a decimal point, and nothing between"),
        ('p,time\n"2,000",5\n', "p = '2,000': '2,000' is not a number with a unit; write a"),
        ("4,10\n8,5\n16,3\n", "its first line is no header but 4, 10; write names of columns"),
        ("p time\n4 10\n8 5\n", "nothing but blanks divides 'p time'; write commas, semicolons"),
        ("p,time\n4,10\n8,FAILED\n", "not a number with a unit; leave out runs that failed"),
        ("p,time\n4,10\n8,\n", "t.csv:3: time = '': '' is not a number with a unit; leave out"),
        ("p,time\n4,100 %\n8,50 %\n", "t.csv:2: time = '100 %': '100 %' is in 1, not in s"),
        ("p,time (GB)\n4,10\n8,5\n", "t.csv:2: time = '10 GB'"),
        ("cores,time\n4,10\n8,5\n", "say which counts processes: t.csv#p=NAME"),
        ("p,time\n4,10:00\n", "time = '10:00'"),
    ],
)  # fmt: skip
def test_odd_tables_are_refused_with_what_to_do(text, sentence, read):
    with pytest.raises(FileError, match=re.escape(sentence)):
        read(text)


def test_the_column_that_counts_processes_is_named(read):
    assert [run.p for run in read("cores,time\n4,10\n8,5\n", "#p=cores").runs] == [4, 8]
