"""Files of measured times: tables, Extra-P's forms and Slurm's accounting tell the same runs."""

from __future__ import annotations

import json
import math
import random
import re

import pytest

from parcast import Registry
from parcast.comparison import read_measured
from parcast.errors import FileError, ParcastError, UnsupportedError
from parcast_scaling.reading import read_recorded, read_times
from parcast_scaling.runs import amounts_of

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
    "old.json": json.dumps({
        "parameters": [{"id": 7, "name": "ranks"}],
        "callpaths": [{"id": 1, "name": "main"}], "metrics": [{"id": 2, "name": "time"}],
        "coordinates": [
            {"id": i, "parameter_value_pairs": [{"parameter_id": 7, "parameter_value": p}]}
            for i, p in ((1, 4), (2, 8), (3, 16))
        ],
        "measurements": [
            {"id": 0, "callpath_id": 1, "metric_id": 2, "coordinate_id": i, "value": value}
            for i, value in ((1, 10), (1, 10.5), (2, 5.5), (3, 3))
        ],
    }),
    "talpas.txt": "\n".join(
        f'{{"parameters":{{"np":{p}}};"metric":"time";"callpath":"main";"value":{x}}}'
        for p, x in RUNS
    ),
    "metrics.txt": "PARAMETER\tx\nPOINTS\t(4)\t(8)\t(16)\nREGION main\nMETRIC flops\n"
    "DATA 1\nDATA 2\nDATA 3\nMETRIC time\nDATA\t10 10.5\nDATA\t5.5\nDATA\t3\n",
    "wide.out": "JobID        NNodes    Elapsed      State \n"
    "------------ ------ ---------- ---------- \n"
    "1                 4   00:00:10  COMPLETED \n1.batch           4   00:00:10  COMPLETED \n"
    "2_7               4   00:10.5   COMPLETED \n3                 8   00:05.5  COMPLETED \n"
    "4                16   00:00:03  COMPLETED \n5                16   00:00:01 CANCELLED+ \n",
    "parsable.txt": "JobIDRaw|AllocNodes|ElapsedRaw|Elapsed|State|\n"
    "1|4|10|00:00:10|COMPLETED|\n2|4||00:10.5|COMPLETED|\n"
    "3|8||00:05.5|COMPLETED|\n4|16|3|00:00:03|COMPLETED|\n",
    "sacct.json": json.dumps({"meta": {}, "jobs": [
        {"job_id": 1, "state": {"current": ["COMPLETED"]}, "allocation_nodes": p,
         "time": {"elapsed": int(x)}} for p, x in RUNS if x == int(x)
    ] + [{"job_id": 9, "state": {"current": "FAILED"}, "allocation_nodes": 0,
          "time": {"elapsed": 0}}]}),
    "sacct.txt": "JobID|NNodes|Elapsed|State\n1|4|00:00:10|COMPLETED\n1.0|4|00:00:09|COMPLETED\n"
    "2|4|00:10.5|COMPLETED\n3|8|00:05.5|COMPLETED\n4|16|00:00:03|COMPLETED\n5|16|00:00:01|FAILED\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_all_forms_tell_the_same_runs(name, tmp_path):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    times = read_times(str(path))
    whole = [run for run in RUNS if run[1] == int(run[1]) or name != "sacct.json"]  # seconds
    assert [(run.p, run.seconds) for run in times.runs] == whole
    assert all(str(path) in run.place for run in times.runs)


def test_one_of_several_series_and_what_is_p_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.txt").write_text(
        "PARAMETER x\nPARAMETER y\nPOINTS (4 1) (8 1)\nREGION a\nMETRIC time\nDATA 9\nDATA 5\n"
        "REGION b\nDATA 3\nDATA 2\nMETRIC visits\nDATA 7\nDATA 7\n"
    )
    times = read_times("e.txt#b/time,p=x")
    assert [(run.p, run.seconds) for run in times.runs] == [(4, 3), (8, 2)]
    (tmp_path / "d.txt").write_text((tmp_path / "e.txt").read_text().replace("x", "p"))
    assert read_times("d.txt#b/time,p=p").runs == read_times("d.txt#b/time").runs
    assert [item.value for item in read_measured("e.txt#a,p=x").items] == [9, 5]
    (tmp_path / "t.csv").write_text("cores,time\n4,9\n8,5\n")
    assert [run.p for run in read_times("t.csv#p=cores").runs] == [4, 8]
    for name, sentence in (
        ("e.txt#a", "no parameter is called p, only x, y; say which counts processes: e.txt#p=x"),
        ("e.txt#c", "no series is called 'c'; there are a/time, b/time, b/visits"),
        ("e.txt#a,b", "a, b are several series; name one"),
        ("e.txt#a,p=z", "p=z: there is no column 'z'"),
        ("d.txt#a,p=q", "p=q: there is no column 'q', only p"),
        ("t.csv#a", "is a table of one series; leave out 'a'"),
    ):
        with pytest.raises(FileError, match=re.escape(sentence)):
            read_times(name)
    (tmp_path / "v.txt").write_text("PARAMETER p\nPOINTS 4 8\nMETRIC visits\nDATA 7\nDATA 7\n")
    with pytest.raises(FileError, match="'visits' is measured, and no time"):
        read_times("v.txt")


def profile_of(folder, ranks, seconds):
    """Write a profile of Caliper: so many seconds of all ranks together."""
    file = folder / f"run-{ranks}.cali"
    nodes = ("20,attr=10,data=276,parent=3", "21,attr=8,data=region,parent=20",
             "30,attr=8,data=attribute.unit,parent=3", "31,attr=30,data=sec,parent=5",
             "32,attr=8,data=sum#sum#time.duration,parent=31",
             "40,attr=8,data=mpi.world.size,parent=3", f"41,attr=40,data={ranks}",
             "50,attr=21,data=main")  # fmt: skip
    lines = [f"__rec=node,id={node}" for node in nodes]
    lines += [f"__rec=ctx,ref=50,attr=32,data={seconds}", "__rec=globals,ref=41"]
    file.write_text("\n".join(lines))
    return str(file)


def test_profiles_of_several_runs_are_times(tmp_path):
    files = [profile_of(tmp_path, p, 100.0 + 10 * p) for p in (4, 8, 16)]
    times = read_recorded(Registry(), files)
    assert [(run.p, run.seconds) for run in times.runs] == [(4, 35.0), (8, 22.5), (16, 16.25)]
    with pytest.raises(UnsupportedError, match="which has times and no amounts; leave out --on"):
        amounts_of(Registry(), files, "milan-hdr")
    assert read_recorded(Registry(), ["stencil2d", "btio"]) is None
    trace = tmp_path / "a.tit"
    trace.write_text("0 init\n0 compute 10\n0 finalize\n")
    with pytest.raises(FileError, match="no times in seconds, only work and messages"):
        read_recorded(Registry(), [str(trace), str(trace)])
    with pytest.raises(FileError, match="btio is no profile"):
        read_recorded(Registry(), [files[0], "btio"])


@pytest.mark.parametrize("name", TEXTS)
def test_mutilated_files_are_read_or_refused(name, tmp_path):
    sentences = []
    for seed in range(25):
        draw, text = random.Random(seed), list(TEXTS[name])
        for _ in range(draw.randint(1, 5)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 4)] = draw.choice(
                ["", "|", "{", '"', "1e999", "\n", "]"]
            )
        (tmp_path / name).write_text("".join(text))
        try:
            times = read_times(str(tmp_path / name))
        except ParcastError as error:
            sentences.append(str(error))
        else:
            runs = () if times is None else times.runs
            assert all(0 < run.seconds < math.inf and run.p >= 1 for run in runs)
    assert all(name in sentence for sentence in sentences)


def test_elapsed_times_of_days_are_read(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("JobID,NCPUS,Elapsed,State\n1,4,2-01:00:00,COMPLETED\n2,4,1-00:00:00,TIMEOUT\n")
    times = read_times(str(path))
    assert [run.seconds for run in times.runs] == [49 * 3600]
    assert times.counts == "CPUs"
    assert [run.seconds for run in times.killed] == [24 * 3600]


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
        ("t.csv", "p,time\n4 nodes,10\n", "EUR, %; write the number alone"),
        ("t.csv", "p,time\n4.5,10\n", "t.csv:2: p = '4.5' must be a whole number"),
        ("t.csv", "p,time,machine\n4,1,a\n8,1,b\n", "column 'machine' has 2 values"),
        ("e.txt", "PARAMETER p\nPOINTS 4 8\nDATA 1\n", "1 lines of DATA for 2 POINTS"),
        (
            "e.txt",
            "PARAMETER p\nPOINTS 4\nMETRIC a\nDATA 1\nMETRIC b\nDATA 1\n",
            "several series are measured (?/a, ?/b); keep one, name it (e.txt#a)",
        ),
        ("e.txt", "PARAMETER p n\nPOINTS (4,1)\n", "e.txt:2: '4,1' is no number; divide numbers"),
        ("e.txt", "PARAMETER p\nPOINTS 4\nDATUM 1\n", "e.txt:3: 'DATUM' is none of PARAMETER"),
        ("e.txt", "PARAMETER p n\nPOINTS ( 4 1 ) ( 8 )\n", "a point has not 2 values"),
        ("s.csv", "JobID,Elapsed\n1,00:01:00\n", "no column says how large jobs were"),
        ("s.csv", "JobID|State|NNodes|Partition\n1|COMPLETED|2|a\n", "ask for Elapsed: sacct"),
        (
            "s.txt",
            "JobID   JobName      State\n------ -------- ----------\n1             a  COMPLETED\n",
            "does not say how long jobs took; ask for Elapsed",
        ),
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
