"""``parcast petri solve``: reference nets as a user solves them, and sentences on bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast_petri.commands.arguments import read_net
from parcast_petri.nets.net_files import net_of
from parcast_petri.nets.solve import solution

CASES = json.loads((Path(__file__).parent / "nets.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']} {case['semantics']}")
def test_reference_nets(case, tmp_path, capsys):
    path = tmp_path / "net.json"
    path.write_text(json.dumps(case["net"]))
    evaluation = case["evaluation"]
    if evaluation == "sequential":
        assert main(["petri", "solve", str(path), "--evaluation", evaluation, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
    else:
        found = solution(read_net(path).net, evaluation=evaluation).as_json()
    for key in ("completion_time", "firings", "final_marking"):
        assert found[key] == case[key], key
    assert found["deadlock"] == ("deadlock" in case["name"])


def test_a_deadlock_names_the_circle(tmp_path, capsys):
    (case,) = (case for case in CASES if "deadlock" in case["name"])
    path = tmp_path / "net.json"
    path.write_text(json.dumps({"net": case["net"]}))
    assert main(["petri", "solve", str(path)]) == 0
    said = capsys.readouterr().out
    assert "deadlock: 'recv_a', 'recv_b'" in said
    assert "'recv_a' for 'ma', 'send_b' for 'pb1', 'recv_b' for 'mb', 'send_a' for 'pa1'" in said


LOOP = {
    "places": ["a"],
    "initial_marking": {"a": 1},
    "transitions": [{"name": "turn", "pre": {"a": 1}, "post": {"a": 1}}],
}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {}, "'turn' fires for ever at time 0"),
        (
            {"delay": 1, "post": {"a": 2}},
            {"bound": 50},
            "'a' has more than 50 tokens at time 50, after 50 firings",
        ),
        ({"delay": -1}, {}, "time runs forward"),
        ({"post": {"b": 1}}, {}, "names no place 'b'"),
    ],
)
def test_nets_that_cannot_be_solved_are_refused(tmp_path, change, options, message):
    path = tmp_path / "net.json"
    path.write_text(json.dumps({**LOOP, "transitions": [{**LOOP["transitions"][0], **change}]}))
    with pytest.raises(ParcastError, match=message):
        solution(read_net(path).net, **options)


def test_the_command_exits_2_where_a_net_goes_on_for_ever(tmp_path, capsys):
    path = tmp_path / "net.json"
    path.write_text(json.dumps({**LOOP, "transitions": [{**LOOP["transitions"][0], "delay": 1}]}))
    assert main(["petri", "solve", str(path), "--firings", "9"]) == 2
    assert "has not ended after 9 firings" in capsys.readouterr().err


def test_long_runs_are_given_in_floats(monkeypatch):
    monkeypatch.setattr("parcast_petri.nets.solve.MOST_EXACT", 200)
    work = {"name": "work", "pre": {"a": 1}, "delay": "1/8"}
    for tokens, exact in ((200, "25"), (300, None)):
        net = {"places": ["a"], "initial_marking": {"a": tokens}, "transitions": [work]}
        found = solution(net_of(net)).as_json()
        assert found["completion_time"] == {"exact": exact, "value": tokens / 8}
