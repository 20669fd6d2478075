"""Nets to be looked at: drawn, played step by step, and what is proven of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from random import Random
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from petri_nets import random_net

from parcast.cli import main
from parcast.testing import seeds
from parcast_petri.commands.arguments import read_net
from parcast_petri.nets.invariants import prove
from parcast_petri.nets.net import Net, Transition
from parcast_petri.programs.lowering import joined_ends

RING = """def program(rank, size):
    compute(8)
    sendrecv((rank + 1) % size, 64, (rank - 1) % size)
"""


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.py"
    path.write_text(f'"""A ring."""\n\n{RING}')
    return str(path)


@pytest.mark.parametrize("suffix", ["svg", "dot", "pnml", "json"])
def test_nets_of_programs_are_written(graphviz, ring, tmp_path, capsys, suffix):
    output = tmp_path / f"net.{suffix}"
    assert main(["petri", "net", ring, "-p", "3", "-o", str(output)]) == 0
    assert "are assumed" in capsys.readouterr().err
    text = output.read_text()
    assert "carry 2.1" in text
    if suffix == "svg":
        ids = Counter(one.get("id", " ")[0] for one in ET.fromstring(text).iter())
        assert (ids["p"], ids["t"]) == (19, 15)
    elif suffix != "dot":
        assert main(["petri", "solve", str(output), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["final_marking"] == {"end": 3}
        assert found["completion_time"]["value"] == pytest.approx(8e-9 + 1e-6 + 64e-9)


def test_a_run_is_shown_step_by_step(graphviz, ring, tmp_path, capsys):
    assert main(["petri", "animate", ring, "-p", "2", "--steps", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "compute 0.0  (start 0 -1, compute done 0.0 +1, ready 0.1 +1)" in lines[0]
    page = tmp_path / "run.html"
    assert main(["petri", "animate", ring, "-p", "2", "-o", str(page)]) == 0
    text = page.read_text()
    steps = json.loads(text.partition("id='steps'>")[2].partition("</script>")[0])
    assert len(steps["steps"]) == 10
    assert steps["initial"]["start 0"] == 1
    for kind in ("places", "transitions"):
        for index, name in enumerate(steps[kind]):
            _, _, node = text.partition(f'<g id="{kind[0]}{index}" class="node">')
            assert re.findall("<text.*?>(.*)</text>", node)[0] == name


def test_a_page_without_graphviz_is_refused_and_the_terminal_named(
    ring, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    page = tmp_path / "run.html"
    assert main(["petri", "animate", ring, "-o", str(page)]) == 2
    assert "apt install graphviz" in (complaint := capsys.readouterr().err)
    assert complaint.endswith("without it, leave out -o\n")
    assert not page.exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["net", "ring-of-nobody", "-o", "x.svg"], "ring-of-nobody"),
        (["net", "{ring}", "-o", "x.jpg"], "a net is written as .svg"),
        (["net", "{ring}", "-o", "/nowhere/x.dot"], "/nowhere/x.dot"),
        (["net", "{ring}", "-p", "999", "-o", "x.svg"], "more than a picture shows"),
        (["net", "{ring}", "-o", "x.svg", "--set", "petri.sharing=fair"], "fair"),
        (["net", "{ring}", "-o", "x.svg", "--set", "n=2"], "NAME=VALUE"),
        (["animate", "{ring}", "-o", "x.gif"], "an animation is written as .html or .htm"),
    ],
)
def test_bad_input_is_a_sentence(ring, capsys, asked, message):
    assert main(["petri", *(one.replace("{ring}", ring) for one in asked)]) == 2
    assert message in capsys.readouterr().err


def test_invariants_hold_in_every_marking_that_is_reached():
    found = 0
    for seed in seeds(60):
        net = random_net(Random(seed))
        change = np.array(
            [[t.post.get(p, 0) - t.pre.get(p, 0) for p in net.places] for t in net.transitions]
        )
        proof = prove(net)
        for one in proof.place_invariants:
            vector = np.array([one.get(place, 0) for place in net.places])
            assert not (change @ vector).any()
            found += 1
        for one in proof.transition_invariants:
            counts = np.array([one.get(t.name, 0) for t in net.transitions])
            assert not (counts @ change).any()
    assert found > 20


def test_a_ring_is_bounded_and_a_source_is_not(ring, capsys):
    assert main(["petri", "prove", ring, "-p", "2", "--json"]) == 0
    proven = json.loads(capsys.readouterr().out)
    assert proven["bounded"]
    assert proven["bounds"]["end"] == 2
    assert proven["never_fire"] == []
    assert proven["deadlock_excluded"]
    net = Net(
        places=("a", "b", "c"),
        initial={},
        transitions=(
            Transition(name="source", post={"a": 1}, delay=1),
            Transition(name="swap", pre={"b": 1}, post={"c": 1}),
            Transition(name="back", pre={"c": 1}, post={"b": 1}),
        ),
    )
    proof = prove(net)
    assert proof.unbounded == ("a",)
    assert proof.dead_transitions == ("swap", "back")
    assert {"swap": 1, "back": 1} in proof.transition_invariants
    assert "can never fire: 'swap', 'back'" in proof.report()


def test_a_place_called_end_joins_processes_only_in_nets_of_programs(tmp_path, ring, capsys):
    tries = "".join(f'<transition id="{name}"/>' for name in ("pay", "reject"))
    ends = [pair for name in ("pay", "reject") for pair in (("start", name), (name, "end"))]
    arcs = "".join(f'<arc id="a{number}" source="{source}" target="{target}"/>'
                   for number, (source, target) in enumerate(ends))  # fmt: skip
    (tmp_path / "flow.pnml").write_text(
        '<pnml><net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">'
        '<place id="start"><initialMarking><text>1</text></initialMarking></place>'
        f'<place id="end"/>{tries}{arcs}</page></net></pnml>'
    )
    assert main(["petri", "net", ring, "-p", "2", "-o", str(tmp_path / "ring.pnml")]) == 0
    nets = {name: read_net(tmp_path / f"{name}.pnml").net for name in ("flow", "ring")}
    assert {name: joined_ends(net) for name, net in nets.items()} == {"flow": frozenset(),
                                                                      "ring": {"end"}}  # fmt: skip
    main(["petri", "prove", str(tmp_path / "flow.pnml")])
    assert "no deadlock" in capsys.readouterr().out
