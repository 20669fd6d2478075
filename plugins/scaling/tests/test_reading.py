"""Files of measured times: tables, Extra-P's forms and Slurm's accounting tell the same runs."""

from __future__ import annotations

import json

import pytest

from parcast.errors import FileError
from parcast_scaling.reading import read_times

RUNS = [(4, 10.0), (4, 10.5), (8, 5.5), (16, 3.0)]

TEXTS = {
    "t.csv": "p,time\n4,10 s\n4,10500 ms\n8,5.5\n16,3\n",
    "nodes.csv": "nodes;seconds;run\n4;10;1\n4;10.5;2\n8;5.5;1\n16;3;1\n",
    "e.txt": "PARAMETER p\nPOINTS 4 8 16\nREGION main\nMETRIC time\n"
    "DATA 10 10.5\nDATA 5.5\nDATA 3\n",
    "q.txt": "PARAMETER q\nPOINTS ( 4 ) ( 8 ) ( 16 )\nDATA 10 10.5\nDATA 5.5\nDATA 3\n",
    "e.json": json.dumps({
        "parameters": ["p"],
        "measurements": {"main": {"time": [
            {"point": [4], "values": [10, 10.5]},
            {"point": [8], "values": [5.5]},
            {"point": [16], "values": [3]},
        ]}},
    }),
    "e.jsonl": "\n".join(json.dumps({"params": {"p": p}, "value": x}) for p, x in RUNS),
    "sacct.txt": "JobID|NNodes|Elapsed|State\n1|4|00:00:10|COMPLETED\n1.0|4|00:00:09|COMPLETED\n"
    "2|4|00:10.5|COMPLETED\n3|8|00:05.5|COMPLETED\n4|16|00:00:03|COMPLETED\n5|16|00:00:01|FAILED\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_all_forms_tell_the_same_runs(name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    times = read_times(str(path))
    assert [(run.p, run.seconds) for run in times.runs] == RUNS
    assert all(str(path) in run.place for run in times.runs)


def test_elapsed_times_of_days_are_read(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("JobID,NCPUS,Elapsed,State\n1,4,2-01:00:00,COMPLETED\n2,4,1-00:00:00,TIMEOUT\n")
    times = read_times(str(path))
    assert [run.seconds for run in times.runs] == [49 * 3600]
    assert times.counts == "CPUs"
    assert any("true quantiles are higher" in remark for remark in times.remarks)


def test_a_table_without_times_is_none(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("p,bytes\n4,10\n8,20\n")
    assert read_times(str(path)) is None


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("t.csv", "q,time\n4,10\n", "there is no column 'p'"),
        ("t.csv", "p,time\n4,0\n", "t.csv:2: time = 0 must be above 0; leave out runs that failed"),
        ("t.csv", "p,time\n4,10 MB\n", "t.csv:2: time = '10 MB'"),
        ("t.csv", "p,time\n4.5,10\n", "t.csv:2: p = '4.5' must be a whole number"),
        ("t.csv", "p,time,machine\n4,1,a\n8,1,b\n", "column 'machine' has 2 values"),
        ("e.txt", "PARAMETER p\nPOINTS 4 8\nDATA 1\n", "1 lines of DATA for 2 POINTS"),
        ("e.txt", "PARAMETER p\nPOINTS 4\nMETRIC a\nDATA 1\nMETRIC b\nDATA 1\n", "2 series (a, b)"),
        ("e.txt", "PARAMETER p\nPOINTS 4\nDATUM 1\n", "e.txt:3: 'DATUM' is none of PARAMETER"),
        ("e.txt", "PARAMETER p n\nPOINTS ( 4 1 ) ( 8 )\n", "a point has not 2 values"),
        ("s.csv", "JobID,Elapsed\n1,00:01:00\n", "no column says how large jobs were"),
        ("s.csv", "JobID,NNodes,Elapsed\n1,4,soon\n", "s.csv:2: elapsed = 'soon' is no time"),
        ("s.csv", "JobID,NNodes,Elapsed\n1,many,00:01:00\n", "nnodes = 'many' must be a whole"),
    ],
)
def test_bad_files_are_one_sentence_with_the_place(name, text, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError) as caught:
        read_times(name)
    assert sentence in str(caught.value)
