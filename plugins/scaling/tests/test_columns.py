"""Tables as people write them: one sentence where they are wrong, and no wrong number elsewhere."""

from __future__ import annotations

import re

import pytest

from parcast.errors import FileError
from parcast_scaling.reading import read_times
from parcast_scaling.work import with_work

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
        "No. of cores,Wall-clock time (seconds),Parallel Efficiency\n4,10,1\n8,5,1\n16,3,0.8\n",
        "num_procs,total_time_ms\n4,10000\n8,5000\n16,3000\n",
        "# by hand\n# nodes   time\n\n 4  10\n 8   5\n16   3.0\n",
        "mpi_ranks elapsed_s\n4 10\n8 5\n16 3\n",
        "So:\n\n|No. of nodes|time (s)|Speedup|\n|:-|-:|-|\n|4|10|1|\n|8|5|2|\n|16|3|NA|\n\nSo.\n",
        "ntasks,nodes,time,cells,imbalance\n4,2,10,900,1.02\n8,4,5,900,1.1\n16,8,3,900,1.31\n",
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
    ("head", "seconds"),
    [("ns/day", 86400), ("ns per day", 86400), ("GFLOP/s", 1), ("Gflops", 1), ("steps/s", 1),
     ("Performance (ns/day)", 86400), ("photons/hour", 3600), ("aggregate-FOM", 1), ("rate", 1)],
)  # fmt: skip
def test_a_rate_is_the_time_of_its_unit_of_work(head, seconds, read):
    times = read(f"nodes,{head}\n4,2\n8,4\n16,5\n")
    assert [(run.p, run.seconds) for run in times.runs] == [
        (4, seconds / 2), (8, seconds / 4), (16, seconds / 5)
    ]  # fmt: skip
    assert times.of_unit
    assert read(f"p,time,{head}\n4,10,2\n8,5,4.5\n").of_unit == ""  # a time is nearer


def test_a_rate_of_growing_work_is_the_time_of_p_units(read):
    times, work = with_work(read("nodes,FOM\n4,2\n8,4\n16,5\n"), weak=True)
    assert [(run.seconds, run.n) for run in times.runs] == [(2, 4), (2, 8), (3.2, 16)]
    assert (work.n, work.per_process) == (1, 1)
    assert times.remarks[0] == ("rates were measured: times are those of 1 unit of work for each p")


def test_what_counts_as_a_rate_says_so_once_named(read):
    text = "Cores,Actual,Ideal\n4,2,2\n8,4,4\n16,5,8\n"
    with pytest.raises(FileError, match="none of Actual is known as a time or a rate; name it: t"):
        read(text)
    named = read(text, "#p=Cores,rate=Actual")
    assert [run.seconds for run in named.runs] == [1 / 2, 1 / 4, 1 / 5]


def test_one_series_of_a_table_is_named_by_its_values(read):
    text = "p,time,code,nb\n4,10,lu,64\n4,90,qr,64\n8,5,lu,64\n8,44,qr,64\n16,3,lu,64\n"
    assert [(run.p, run.seconds) for run in read(text, "#code=lu").runs] == RUNS
    assert len(read(text, "#code=lu,nb=64").runs) == 3
    with pytest.raises(
        FileError, match=r"keep the runs of one of them, as t.csv#code=lu does, call"
    ):
        read(text)
    with pytest.raises(FileError, match="code=fft: column 'code' has lu, qr"):
        read(text, "#code=fft")
    tiles = "p,time,x,y\n4,10,2,2\n8,5,4,2\n16,3,4,4\n"
    with pytest.raises(
        FileError, match=r"'x' has 2 values \(y too\); keep the runs of one of them"
    ):
        read(tiles)


def test_several_tables_between_bars_are_refused(read):
    bars = "| p | time |\n|---|---|\n| 4 | 10 |\n| 8 | 5 |\n\n"
    with pytest.raises(
        FileError, match=r"2 tables, with heads above lines 2, 7; give a file of one"
    ):
        read(2 * bars)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p;time\n4;10,5\n", "number with a unit; write a decimal point, and nothing between"),
        ('p,time\n"2,000",5\n', "p = '2,000': '2,000' is not a number with a unit; write a"),
        ("4,10\n8,5\n16,3\n", "its first line is no header but 4, 10; write names of columns"),
        ("p time\n4 10 s\n8 5\n", "nothing but blanks divides 'p time'; write commas, semicolons"),
        ("p,time\n4,10\n8,FAILED\n", "not a number with a unit; leave out runs that failed"),
        ("p,time\n4,10\n8,\n", "t.csv:3: time = '': '' is not a number with a unit; leave out"),
        ("p,time\n4,100 %\n8,50 %\n", "t.csv:2: time = '100 %': '100 %' is in 1, not in s"),
        ("p,time (GB)\n4,10\n8,5\n", "t.csv:2: time = '10 GB'"),
        ("atoms,time\n4,10\n8,5\n", "say which counts processes: t.csv#p=NAME"),
        ("nodes,ntasks,time\n1,16,10\n2,32,5\n4,32,3\n", "(8 to 16 tasks for each of nodes); keep"),
        ("p,total_time,step_time\n4,10,1\n8,5,2\n", "are all times; say which: t.csv#time=total"),
        ("p,ns/day,GFLOP/s\n4,10,1\n8,5,2\n", "ns/day and GFLOP/s are all rates; say which: t."),
        ("p,n,ns/day\n4,1,10\n8,2,5\n", "beside the rate 'ns/day' there is a column n; write"),
        ("p,ns/day\n4,10\n8,0\n", "t.csv:3: ns/day = '0' is no rate above 0"),
        ("p,ns/day\n4,10\n8,FAILED\n", "ns/day = 'FAILED' is no rate above 0; leave out runs that"),
        ("nodes,time_s,status\n4,10,OK\n8,5,FAILED\n", "column 'status' has 2 values; keep the"),
        ("p,time\n4,10:00\n", "time = '10:00'"),
    ],
)  # fmt: skip
def test_odd_tables_are_refused_with_what_to_do(text, sentence, read):
    with pytest.raises(FileError, match=re.escape(sentence)):
        read(text)


def test_the_column_that_counts_processes_is_named(read):
    assert [run.p for run in read("cores,time\n4,10\n8,5\n", "#p=cores").runs] == [4, 8]
