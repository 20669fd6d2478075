"""``parcast network show``: links by kind, the longest route, halves, and pictures."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from parcast.cli import main

MACHINE = """
name = "tapered"
[nodes]
count = 64
[network]
startup = "1 us"
bandwidth = "12.5 GB/s"
contention = "fair"
[topology]
kind = "fat-tree"
down = [8, 8]
up = [1, 4]
latency = "100 ns"
"""


@pytest.fixture
def parcast(capsys):
    """Run the command; return its code and what it prints."""

    def run(*words):
        code = main(list(words))
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "tapered.toml"
    path.write_text(MACHINE)
    return path


def test_a_tapered_tree_as_text(parcast, machine):
    shown = parcast("network", "show", str(machine))
    assert shown.code == 0, shown.err
    assert shown.out.splitlines()[0] == "tapered: fat-tree, 64 nodes"
    assert "leaf -> spine      32  12.5 GB/s  400 GB/s   100 ns" in shown.out
    assert "longest route: 4 links, 400 ns" in shown.out
    assert "the second: 200 GB/s, 50% of what they can send" in shown.out


def test_as_json(parcast, machine):
    facts = json.loads(parcast("network", "show", str(machine), "--json").out)
    assert (facts["hops"], facts["halves"], facts["room"]) == (4, 200e9, 64)


def test_a_picture_has_nodes_by_their_switch_and_hot_links(parcast, machine, tmp_path):
    results, picture = tmp_path / "results.json", tmp_path / "net.dot"
    used = {"leaf0 -> spine1": 0.95, "spine3 -> leaf2": 0.7, "node9 in": 0.2}
    results.write_text(json.dumps({"rows": [{"details": {}}, {"details": {"utilization": used}}]}))
    shown = parcast("network", "show", str(machine), "-o", str(picture), "--hot", str(results))
    assert shown.code == 0, shown.err
    lines = picture.read_text().splitlines()
    assert '"leaf1" [label="leaf1\\nnode8 to node15", color="#58b894"];' in lines
    assert '"leaf0" -> "spine1" [dir=none, color="#b03a2e", penwidth=2];' in lines
    assert '"leaf2" -> "spine3" [dir=none, color="#ffd24d", penwidth=2];' in lines
    assert '"leaf2" -> "spine0" [dir=none, color="#666666", penwidth=1];' in lines


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("count = 64", "count = 65", "a fat-tree, holds 64 ports and the machine has 65"),
        ("down = [8, 8]", "down = [8]", "down has 1 levels and up 2"),
    ],
)
def test_a_topology_that_does_not_fit(parcast, machine, before, after, reason):
    machine.write_text(MACHINE.replace(before, after))
    shown = parcast("network", "show", str(machine))
    assert shown.code == 2
    assert reason in shown.err


def test_results_without_figures_are_refused(parcast, machine, tmp_path):
    (tmp_path / "r.json").write_text('{"rows": []}')
    out = tmp_path / "n.dot"
    shown = parcast(
        "network", "show", str(machine), "-o", str(out), "--hot", str(tmp_path / "r.json")
    )
    assert shown.code == 2
    assert "no results have details.utilization" in shown.err


def test_a_machine_without_nodes_says_so(parcast, machine):
    machine.write_text('name = "m"\n[network]\nbandwidth = 1.0\n')
    shown = parcast("network", "show", str(machine))
    assert shown.code == 2
    assert "does not state how many nodes it has: nodes.count" in shown.err


def test_a_machine_shows_its_topology_too(parcast, machine, tmp_path):
    shown = parcast("show", str(machine), "-o", str(tmp_path / "net.dot"))
    assert shown.code == 0, shown.err
    assert shown.out.startswith("tapered (machine)")
    assert shown.out.endswith(parcast("network", "show", str(machine)).out)
    parcast("network", "show", str(machine), "-o", str(tmp_path / "same.dot"))
    assert (tmp_path / "net.dot").read_text() == (tmp_path / "same.dot").read_text()


def test_a_machine_is_shown_whatever_its_topology_lacks(parcast, tmp_path):
    path = tmp_path / "open.toml"
    path.write_text('name = "open"\nnetwork.bandwidth = 1\ntopology.kind = "star"\n')
    shown = parcast("show", str(path))
    assert shown.code == 0
    assert "topology: machine 'open' does not state how many nodes it has" in shown.out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("star.toml", "star states no topology; -o draws"),
        ("program.py", "program is no machine; -o draws"),
        ("topology", "topology is no machine; -o draws"),
    ],
)
def test_what_has_no_picture(parcast, tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "star.toml").write_text('name = "star"\nnetwork.bandwidth = 1\n')
    (tmp_path / "program.py").write_text("def program(rank, size):\n    compute(1)\n")
    shown = parcast("show", name, "-o", "net.dot")
    assert shown.code == 2
    assert message in shown.err
    assert not (tmp_path / "net.dot").exists()
