"""PNML: what tools write is read, nothing is lost in silence, and enemies are refused."""

from __future__ import annotations

import math
from random import Random

import pytest
from petri_nets import random_net
from pnml_texts import ISO, PIPE, PM4PY, TAPAAL, TINA

from parcast.cli import main
from parcast.errors import FileError
from parcast.testing import seeds
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Net, Transition
from parcast_petri.nets.pnml.reading import read_pnml
from parcast_petri.nets.pnml.writing import write_pnml


def read(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "net.pnml"
    path.write_bytes(text.encode(encoding))
    return read_pnml(path)


def test_iso_files(tmp_path):
    found = read(tmp_path, ISO, "iso-8859-1")
    assert found.net == Net(
        name="café",
        places=("p1", "p2"),
        initial={"p1": 3},
        transitions=(Transition(name="t1", pre={"p1": 2}, post={"p2": 1}),),
    )
    assert found.notes == (
        "blocks of 'other' in transitions are ignored",
        "the file states no times: every transition is immediate",
    )


def test_iso_files_keep_ids_graphics_and_tools_blocks(tmp_path):
    read(tmp_path, ISO, "iso-8859-1")
    source, copy = tmp_path / "net.pnml", tmp_path / "copy.pnml"
    assert main(["petri", "net", str(source), "-o", str(copy)]) == 0
    assert copy.read_bytes() == source.read_bytes()


def test_files_of_pm4py_with_the_block_of_prom(tmp_path):
    net = read(tmp_path, PM4PY).net
    assert net.initial == {"waiting": 3}
    enter, check, work = net.transitions
    assert (enter.delay, enter.priority, enter.pre) == (None, 1, {"waiting": 2})
    assert work.delay == Law("exp", (4.0,))
    assert check.delay == Law("uniform", (2.5, 7.5))
    assert (work.pre, work.post) == ({"served": 1}, {"done": 1})


def test_files_of_pipe(tmp_path):
    found = read(tmp_path, PIPE)
    timed, immediate = found.net.transitions
    assert found.net.initial == {"1": 4}
    assert (timed.delay, timed.pre, timed.servers) == (Law("exp", (0.25,)), {"1": 2}, 1)
    assert (immediate.delay, immediate.inhibitor) == (None, {"3": 1})
    assert "weights" in found.notes[0]


@pytest.mark.parametrize(
    ("said", "mean", "scv"),
    [
        ('"erlang" shape="4" scale="0.5"', 2, 1 / 4),
        ('"gamma" shape="0.5" scale="3.0"', 1.5, 2),
        ('"log normal" logMean="1.0" logStddev="0.5"', math.exp(1.125), math.expm1(0.25)),
    ],
)
def test_laws_of_tapaal(tmp_path, said, mean, scv):
    found = read(tmp_path, TAPAAL.replace('"exponential"', said))
    (law,) = (one.delay for one in found.net.transitions if one.name == "u")
    assert (law.mean, law.scv) == pytest.approx((mean, scv))


def test_files_in_the_form_of_tapaal(tmp_path):
    found = read(tmp_path, TAPAAL)
    constant, random, urgent = found.net.transitions
    assert found.net.initial == {"a": 2}
    assert (constant.delay, constant.pre, constant.post) == (2.5, {"a": 2}, {"b": 3})
    assert (random.delay, random.servers, random.priority) == (Law("exp", (0.25,)), None, 1)
    assert (random.pre, random.post, random.inhibitor) == ({"b": 1}, {"a": 1}, {"b": 2})
    assert (urgent.delay, urgent.pre) == (None, {"b": 1})
    note = "weights of transitions are ignored: priority, then order, decides which fires"
    assert found.notes == (note,)


def test_files_in_the_form_of_tina(tmp_path):
    found = read(tmp_path, TINA)
    assert (found.net.initial, found.notes) == ({"p-1-2-2": 1}, ())
    assert [(one.delay, one.pre) for one in found.net.transitions] == [(4, {"p-1-2-2": 1})]


def test_the_least_of_several_inhibitor_arcs_counts_and_bare_labels_are_read(tmp_path):
    arc = '<arc id="{}" source="p2" target="t1"><type value="inhibitor"/><inscription>{}'
    arcs = "".join(f"{arc.format(f'i{n}', n)}</inscription></arc>" for n in (5, 2, 7))
    text = ISO.replace('<arc id="a1"', f'{arcs}<arc id="a1"').replace(
        '<place id="p2"/>', '<place id="p2"><initialMarking>4</initialMarking></place>'
    )
    found = read(tmp_path, text, "iso-8859-1").net
    assert found.transitions[0].inhibitor == {"p2": 2}
    assert found.initial == {"p1": 3, "p2": 4}


def test_a_written_net_is_read_as_the_same(tmp_path):
    path = tmp_path / "net.pnml"
    for seed in seeds(20):
        net = random_net(Random(seed))
        write_pnml(net, path)
        assert read_pnml(path).net == net
    laws = ["exp:0.1", "hyper:4,0.3", "phase:0.3,2", "pareto:2.5,1", "sampled:0.1,0.7", "0.1"]
    net = Net(
        name='a <net> & "more"',
        places=("in & out",),
        initial={"in & out": 7},
        transitions=tuple(
            Transition(name=text, pre={"in & out": 2}, delay=Law.read(text)) for text in laws
        ),
    )
    write_pnml(net, path)
    assert read_pnml(path).net == net


DOTTED = '<text>dot</text><structure><usersort declaration="dot"/></structure>'
BOMB = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><pnml><net id="n">&b;</net></pnml>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "document type declares something"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><pnml/>', "no <pnml> with a <net>"),
        ('<!DOCTYPE x SYSTEM "x.dtd"><pnml>&amp;&left;</pnml>', "&left; is declared in another"),
        (ISO[:700], "no XML"),
        ("", "no XML"),
        ("<pnml/>", "no <pnml> with a <net>"),
        ("<a>" * 300, "nest over 200 deep"),
        (PIPE.replace("Default,4", "Default,4,Red,1"), "tokens have colors"),
        (PIPE.replace("<capacity><value>0", "<capacity><value>5"), "has a capacity"),
        (ISO.replace('source="p1"', 'source="p9"'), "'p9' is no node"),
        (ISO.replace('ref="p2"', 'ref="r"'), "'r' leads to no node"),
        (ISO.replace('id="p2"', 'id="p1"'), "two nodes of id 'p1'"),
        (ISO.replace(">2<", ">two<"), "it must be a whole number"),
        (ISO.replace('target="s"', 'target="p2"'), "joins no place and transition"),
        (PM4PY.replace("UNIFORM", "LOGNORMAL"), "distributionType LOGNORMAL"),
        (PM4PY.replace(">0.25<", ">0<", 2), "transition '(work|check)'"),
        (PIPE.replace('value="inhibitor"', 'value="reset"'), "type 'reset'"),
        (
            PIPE.replace("<value>4</value></rate>", "<value>#(P0)*2</value></rate>"),
            "'T5' is timed with no number: .*P0",
        ),
        (PIPE.replace('source="3" target="T2"', 'source="T2" target="3"'), "from places"),
        (ISO.replace("3 </text>", "-3</text>"), "'p1' has -3 tokens"),
        (ISO.replace("3 </text>", "3</text><text>5</text>"), "has its initialMarking twice"),
        (
            ISO.replace('ref="p2"/>', 'ref="p2"><initialMarking/></referencePlace>'),
            "the reference 'r' has tokens",
        ),
        (TAPAAL.replace('"[0,inf)" source="a"', '"[2,5]" source="a"'), "an interval of ages"),
        (TAPAAL.replace('"[0,inf):1" source="b"', '"(0,inf):1" source="b"'), "interval of ages"),
        (TAPAAL.replace("&lt; inf", "&lt;= 5", 1), "an invariant of ages"),
        (TAPAAL.replace(DOTTED, "<text>Color</text>", 1), "tokens of colors"),
        (TAPAAL.replace("(2'dot)", "(3'dot)"), "marking of place 'a' is 2 and also"),
        (TAPAAL.replace(">2'dot", ">1'dot"), "weight of arc 'a' to 't' is 2 and also"),
        (TAPAAL.replace('name="pair"', 'name="other"'), "'pair'; it must be a whole number"),
        (TAPAAL.replace('"constant"', '"normal"', 1), "distribution 'normal'"),
        (
            TAPAAL.replace('"constant"', '"erlang" shape="1.5" scale="1"', 1),
            "stages must be a whole number",
        ),
        (TAPAAL.replace('"constant"', '"log normal" logMean="0" logStddev="99"', 1), "math range"),
        (TAPAAL.replace('"constant"', '"gamma" scale="1"', 1), "no number: 'shape'"),
        (TAPAAL.replace('value="0.0"', 'value="3.0"'), "is urgent and has the distribution"),
        (TAPAAL.replace("<net", "<net/><net"), "2 nets; name one after it"),
        (TINA.replace("<cn>4</cn>", "<cn>9</cn>", 1), "an interval, 9 .. 4"),
        (
            ISO.replace("<any/>", "").replace(
                '<page id="top">',
                '<toolspecific tool="nupn" version="1"><size places="9" transitions="1"/>'
                '</toolspecific><page id="top">',
            ),
            "states 9 places",
        ),
    ],
)
def test_what_would_be_lost_or_harm_is_refused(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read(tmp_path, text, "iso-8859-1")
