"""PNML: what tools write is read, nothing is lost in silence, and enemies are refused."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from random import Random

import pytest
from petri_nets import random_net
from pnml_texts import ISO, PIPE, PM4PY, TAPAAL, TINA

from parcast.cli import main
from parcast.errors import FileError
from parcast.testing import cases, first_seed, seeds
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Net, Transition
from parcast_petri.nets.pnml.reading import read_pnml
from parcast_petri.nets.pnml.writing import write_pnml
from parcast_petri.nets.solve import solution


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
        (
            TAPAAL.replace('"[0,inf)" source="a"', '"[2,5]" source="a"'),
            "waits for more than one of them",
        ),
        (
            TAPAAL.replace('"[0,inf):1" source="b"', '"(0,inf):1" source="b"'),
            "2 transitions take them",
        ),
        (TAPAAL.replace("&lt; inf", "&lt;= 5", 1), "'a' have ages"),
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


def aged(*places, arcs="", transitions=None):
    """A net of TAPAAL: a place, its invariant, the ages it is left at, and where its tokens go."""
    nodes = "".join(
        f'<place id="{name}" initialMarking="{tokens}" invariant="{invariant}" />'
        for name, tokens, invariant, _, _ in places
    )
    for name, _, _, guard, targets in places:
        if guard is None:
            continue
        nodes += f'<transition id="t{name}" {transitions or ""}/>'
        nodes += f'<arc id="i{name}" inscription="{guard}" source="{name}" target="t{name}" '
        nodes += 'type="timed" weight="1"/>'
        for at, target in enumerate(targets):
            nodes += f'<arc id="o{name}{at}" inscription="1" source="t{name}" target="{target}" '
            nodes += 'type="normal" weight="1"/>'
    constant = '<constant name="long" value="7"/>'
    return f'<pnml>{constant}<net id="n" type="P/T net">{nodes}{arcs}</net></pnml>'


END = ("end", 0, "&lt; inf", None, ())


def test_nets_in_nets_are_refused(tmp_path):
    path = tmp_path / "a.pnml"
    path.write_text('<pnml><net id="n" type="NPN"><transition id="t"/></net></pnml>')
    with pytest.raises(FileError, match=r"the net is of type 'NPN', whose tokens are nets"):
        read_pnml(path)


def test_tokens_that_leave_at_one_age_are_as_each_followed_by_itself(tmp_path):
    draw = Random(first_seed())
    for _ in range(cases(20)):
        count = draw.randint(1, 6)
        ages = [Fraction(draw.randint(0, 9), draw.choice((1, 2, 4))) for _ in range(count)]
        targets = [
            ["end", *draw.sample(range(at + 1, count), draw.randint(0, min(2, count - at - 1)))]
            for at in range(count)
        ]
        tokens = [draw.randint(0, 2) for _ in range(count)]
        text = aged(
            *((f"p{at}", tokens[at], f"&lt;= {float(age)}",
               draw.choice((f"[{float(age)},inf)", f"[{float(age)},{float(age + 3)}]")),
               [t if t == "end" else f"p{t}" for t in targets[at]])
              for at, age in enumerate(ages)), END,
        )  # fmt: skip
        leaving = [(Fraction(0), at) for at in range(count) for _ in range(tokens[at])]
        last, ended = Fraction(0), 0
        for came, at in leaving:
            last = max(last, came + ages[at])
            ended += 1
            leaving += [(came + ages[at], to) for to in targets[at] if to != "end"]
        answer = solution(read(tmp_path, text).net)
        assert answer.run.time == last
        assert answer.run.marking.get("end", 0) == ended


def test_ages_by_name_and_beside_other_times(tmp_path):
    document = read(tmp_path, aged(("a", 1, "&lt;= long", "[long,long]", ["end"]), END))
    assert solution(document.net).run.time == 7
    assert document.notes == (
        "ages of tokens are kept, as delays of the transitions that take them",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (aged(("a", 1, "&lt;= 5", "[2,5]", ["end"]), END), "which is no single time and no law"),
        (aged(("a", 1, "&lt; 5", "[5,inf)", ["end"]), END), "which is no single time and no law"),
        (aged(("a", 1, "&lt;= 5", "(5,inf)", ["end"]), END), "which is no single time and no law"),
        (aged(("a", 1, "&lt; inf", "[5,5]", ["end"]), END), "need not be taken at all"),
        (aged(("a", 1, "&lt;= 5", "[5,2]", ["end"]), END), "which no age is in"),
        (aged(("a", 1, "&lt;= 5", "[5,5)", ["end"]), END), "which no age is in"),
        (aged(("a", 1, "&lt;= 5", "[x,5]", ["end"]), END), "is no number and no constant"),
        (aged(("a", 1, "&lt;= 5", "[5]", ["end"]), END), "an interval of ages is as"),
        (aged(("a", 1, "&lt;= 5", None, ()), END), "0 transitions take them"),
        (aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END, transitions=(
            'distribution="exponential" rate="2"')), "has a time of its own"),
        (aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END, arcs=(
            '<arc id="x" source="end" target="ta" type="tapnInhibitor" inscription="[0,inf)"/>')),
         "waits for more than one of them"),
        (aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END, arcs=(
            '<transition id="u"/><arc id="x" source="a" target="u" inscription="[0,inf)"/>')),
         "2 transitions take them"),
        (aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END, arcs=(
            '<arc id="x" source="end" target="ta" type="tapnInhibitor" inscription="[0,3]"/>')),
         "ages that inhibit"),
        (aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END, arcs=(
            '<transition id="u"/><arc id="x" source="u" target="a" type="transport" '
            'inscription="[0,inf):1"/>')), "a transport arc keeps the ages"),
    ],
)  # fmt: skip
def test_ages_that_are_no_single_time_are_refused(tmp_path, text, message):
    with pytest.raises(FileError, match=message):
        read(tmp_path, text)


def test_an_interval_without_end_is_no_time(tmp_path):
    text = TINA.replace('closure="closed"', 'closure="closed-open"')
    endless = re.sub(r"<cn>4</cn>\s*<cn>4</cn>", "<cn>0</cn><ci>infty</ci>", text)
    assert endless != text
    document = read(tmp_path, endless)
    assert all(transition.delay is None for transition in document.net.transitions)
    assert document.notes == ("the file states no times: every transition is immediate",)


def test_a_transport_arc_of_an_engine_is_two(tmp_path):
    engine = aged(("a", 1, "&lt;= 5", "[5,inf)", []), END)
    engine = re.sub(
        r'<arc id="ia".*?/>',
        '<transportArc inscription="[5,5]" source="a" transition="ta" target="end"/>',
        engine,
    )
    plain = aged(("a", 1, "&lt;= 5", "[5,5]", ["end"]), END)
    assert read(tmp_path, engine) == read(tmp_path, plain)
