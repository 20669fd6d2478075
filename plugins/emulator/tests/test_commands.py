"""What-ifs, timelines and the bar of a long simulation."""

from __future__ import annotations

import io
import json
import sys
from collections import defaultdict
from itertools import pairwise

import pytest

import parcast_emulator
from parcast import Registry
from parcast.cli import main
from parcast_emulator.progress import simulation_progress

REGISTRY = Registry([parcast_emulator])


def test_each_what_if_is_the_question_asked_by_itself(capsys):
    asked = ["titan", "table3-machine", "-p", "32", "--set", "per_node=60"]
    assert main(["emulator", "what-if", *asked, "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    settings = {"per_node": 60}
    for name, more, d in (
        ("as it is", {}, 4),
        ("twice the disks", {}, 8),
        ("disks twice as fast", {"disk.bandwidth": 14.2e6}, 4),
        ("buses twice as fast", {"bus.bandwidth": 40e6}, 4),
        ("network twice as fast", {"network.bandwidth": 220e6}, 4),
    ):
        (row,) = REGISTRY.compare("titan", "table3-machine", p=32, d=d, solvers="emulator.lc",
                                  settings=settings | more).rows  # fmt: skip
        assert found[name]["time"] == row.time
    assert found["as it is"]["time"] / found["load-balanced cells"]["time"] > 1.5
    assert found["processors twice as fast"]["time"] < found["as it is"]["time"]
    assert all(one["lower"] <= one["time"] for one in found.values())
    assert main(["emulator", "what-if", *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["as", "it", "is"]
    assert "1.00" in lines[1]


def spans(file):
    events = json.loads(file.read_text())["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    rows = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            key = (event["pid"], names[event["tid"]])
            rows[key].append((event["ts"], event["ts"] + event["dur"]))
    return rows


@pytest.mark.parametrize(
    ("workload", "given"),
    [("shuffle", "maps=2"), ("checkpoint", "weights=1e8"), ("virtual-microscope", "epochs=2")],
)
def test_a_timeline_has_all_operations_and_no_server_does_two_at_once(tmp_path, workload, given):
    file = tmp_path / "out.json"
    asked = [workload, "nvme-100g", "-p", "3", "--set", given]
    assert main(["emulator", "timeline", *asked, "-o", str(file)]) == 0
    name, value = given.split("=")
    (row,) = REGISTRY.compare(workload, "nvme-100g", p=3, solvers="emulator.lc",
                              settings={name: float(value)}).rows  # fmt: skip
    rows = spans(file)
    for word, used in row.details["resources"].items():
        done = [
            one for (_, server), many in rows.items() for one in many if server.startswith(word)
        ]
        assert len(done) == used["served"]
        assert sum(b - a for a, b in done) == pytest.approx(used["busy"] * 1e6)
    for (_, server), many in rows.items():
        if server in {"processor", "port in", "port out"}:
            assert all(b[0] >= a[1] * (1 - 1e-9) - 1e-6 for a, b in pairwise(sorted(many)))
    assert max(end for many in rows.values() for _, end in many) == pytest.approx(row.time * 1e6)


def test_the_timeline_of_a_checkpoint_runs_forwards(tmp_path):
    file = tmp_path / "out.json"
    asked = ["checkpoint", "nvme-100g", "-p", "3", "--set", "weights=1e8", "--set", "servers=1"]
    assert main(["emulator", "timeline", *asked, "-o", str(file)]) == 0
    rows = spans(file)
    first = {server: min(many)[0] for (_, server), many in rows.items()}
    assert first["port in"] == 0  # in the mirror: the port of the process that sends
    assert min(first[one] for one in first if one.startswith("disk")) > first["port in"]


WRONG = [
    (["what-if", "pathfinder", "umd-sp2", "-p", "7"], "choose a multiple of 4"),
    (["what-if", "titan", "table3-machine", "-p", "0"], "greater than or equal to 1"),
    (["what-if", "titan", "table3-machine", "-p", "4", "--set", "rws=3"], "'rws'"),
    (["what-if", "titan", "table4-machine", "-p", "4"], "Did you mean 'table3-machine'?"),
    (
        ["timeline", "titan", "umd-sp2", "-p", "8", "-o", "x.svg"],
        "is written as .json. Did you mean 'x.json'?",
    ),
    (["timeline", "titan", "table3-machine", "-p", "128", "-o", "x.json"], "up to 100,000 reads"),
    (["timeline", "titan", "umd-sp2", "-p", "2", "-o", "no/x.json"], "cannot be written"),
    (
        ["timeline", "titan", "umd-sp2", "-p", "2", "-o", "x.json", "--set", "nic.sharing=fair"],
        "shares are no spans",
    ),
]


@pytest.mark.parametrize(("arguments", "sentence"), WRONG)
def test_bad_input_is_one_sentence(capsys, arguments, sentence):
    small = ["--set", "per_node=20"] if "128" not in arguments else []
    assert main(["emulator", *arguments, *small]) in {1, 2}
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_simulated_time_and_rate(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with simulation_progress() as tell:
        tell(1234.5, 3e6)
    assert "1,234.5 s simulated" in terminal.getvalue()
    assert "M operations/s" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    with simulation_progress() as tell:
        tell(1.0, 1.0)
    assert file.getvalue() == ""
