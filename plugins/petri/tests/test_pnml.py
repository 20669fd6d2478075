"""PNML: what tools write is read, nothing is lost in silence, and enemies are refused."""

from __future__ import annotations

from random import Random
from xml.etree import ElementTree as ET

import pytest
from petri_nets import random_net

from parcast.cli import main
from parcast.errors import FileError
from parcast_petri.laws import Law
from parcast_petri.net import Net, Transition
from parcast_petri.pnml.reading import read_pnml
from parcast_petri.pnml.writing import write_pnml

ISO = """<?xml version="1.0" encoding="ISO-8859-1"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
 <net id="n1" type="http://www.pnml.org/version-2009/grammar/ptnet">
  <name><text>caf\xe9</text></name>
  <page id="top"><page id="inner">
   <place id="p1"><name><text>ready</text></name><graphics><position x="7" y="8"/></graphics>
    <initialMarking><text>
     3 </text></initialMarking></place>
   <transition id="t1"><toolspecific tool="other" version="9"><any/></toolspecific></transition>
   </page>
   <place id="p2"/>
   <referencePlace id="r" ref="p2"/> <referenceTransition id="s" ref="t1"/>
   <arc id="a1" source="p1" target="s"><inscription><text>2</text></inscription></arc>
   <arc id="a2" source="s" target="r"/><!-- a comment -->
  </page></net></pnml>
"""

# a fragment of the running example as pm4py 2 writes it, with ProM's block
PM4PY = """<?xml version='1.0' encoding='UTF-8'?>
<pnml>
  <net id="net1" type="http://www.pnml.org/version-2009/grammar/pnmlcoremodel">
    <page id="n0">
      <place id="source"><name><text>source</text></name>
        <initialMarking><text>1</text></initialMarking></place>
      <place id="p_4"><name><text>p_4</text></name></place>
      <place id="p_7"><name><text>p_7</text></name></place>
      <transition id="register request">
        <name><text>register request</text></name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">IMMEDIATE</property>
          <property key="priority">1</property>
          <property key="invisible">false</property>
          <property key="weight">1.0</property>
        </toolspecific>
      </transition>
      <transition id="examine casually">
        <name><text>examine casually</text></name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">EXPONENTIAL</property>
          <property key="distributionParameters">1.69176114501161e-05</property>
          <property key="priority">0</property>
          <property key="invisible">false</property>
          <property key="weight">0.5</property>
        </toolspecific>
      </transition>
      <transition id="examine thoroughly">
        <name><text>examine thoroughly</text></name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">UNIFORM</property>
          <property key="distributionParameters">2879.9999331715608;92940.00006706228</property>
          <property key="priority">0</property>
          <property key="invisible">false</property>
          <property key="weight">0.25</property>
        </toolspecific>
      </transition>
      <arc id="-9223371872538103829" source="source" target="register request"/>
      <arc id="-9223371872538097064" source="register request" target="p_4"/>
      <arc id="-9223371872538096924" source="p_4" target="examine casually"/>
      <arc id="164316678888" source="examine casually" target="p_7"/>
      <arc id="164316678895" source="p_4" target="examine thoroughly"/>
      <arc id="-9223371872538096910" source="examine thoroughly" target="p_7"/>
    </page>
  </net>
</pnml>
"""

# a fragment of a test net as PIPE 5 writes it
PIPE = """<?xml version="1.0" encoding="UTF-8"?>
<pnml>
   <net>
      <token id="Default" red="0" green="0" blue="0"/>
      <place id="1">
         <graphics><position x="201.0" y="224.0"/></graphics>
         <name><value>1</value><graphics><offset x="-5.0" y="35.0"/></graphics></name>
         <capacity><value>0</value></capacity>
         <initialMarking>
            <graphics><offset x="0.0" y="0.0"/></graphics>
            <value>Default,4</value>
         </initialMarking>
      </place>
      <place id="3">
         <name><value>3</value></name>
         <capacity><value>0</value></capacity>
         <initialMarking><value></value></initialMarking>
      </place>
      <transition id="T5">
         <name><value>T5</value></name>
         <infiniteServer><value>false</value></infiniteServer>
         <timed><value>true</value></timed>
         <priority><value>1</value></priority>
         <orientation><value>0</value></orientation>
         <rate><value>4</value></rate>
      </transition>
      <transition id="T2">
         <name><value>T2</value></name>
         <infiniteServer><value>false</value></infiniteServer>
         <timed><value>false</value></timed>
         <priority><value>1</value></priority>
         <rate><value>75</value></rate>
      </transition>
      <arc id="P0 TO T5" source="1" target="T5">
         <arcpath id="" x="228.0" y="231.0" curvePoint="false"/>
         <type value="normal"/>
         <inscription><value>Default,2</value></inscription>
      </arc>
      <arc id="T5 TO P2" source="T5" target="3">
         <type value="normal"/>
         <inscription><value>Default,1</value></inscription>
      </arc>
      <arc id="P2 TO T2" source="3" target="T2">
         <type value="inhibitor"/>
         <inscription><value>Default,1</value></inscription>
      </arc>
   </net>
</pnml>
"""

# by specification only
TAPAAL = """<pnml><net id="n" type="P/T net">
  <place id="a" initialMarking="1" invariant="&lt; inf"/><place id="b" initialMarking="0"/>
  <transition id="t" distribution="constant" value="2.5" infiniteServer="false" urgent="false"/>
  <transition id="u" distribution="exponential" rate="4" infiniteServer="true"/>
  <arc id="1" source="a" target="t" type="timed"><inscription><value>[0,inf)</value></inscription>
  </arc>
  <arc id="2" source="t" target="b" type="normal"/>
  <arc id="3" source="b" target="u" type="tapnInhibitor" weight="2"/>
  <arc id="4" source="b" target="u" type="normal"/>
</net></pnml>"""

# by specification only
TINA = """<pnml><net id="n" type="http://www.laas.fr/tina/tpn"><page id="g">
  <place id="a"><initialMarking><text>1</text></initialMarking></place>
  <transition id="t"><delay><interval xmlns="http://www.w3.org/1998/Math/MathML" closure="closed">
    <cn>4</cn><cn>4</cn></interval></delay></transition>
  <arc id="1" source="a" target="t"/></page></net></pnml>"""


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
    assert found.notes == ("the file states no times: every transition is immediate",)


def test_iso_files_keep_ids_graphics_and_tools_blocks(tmp_path):
    read(tmp_path, ISO, "iso-8859-1")
    source, copy = tmp_path / "net.pnml", tmp_path / "copy.pnml"
    assert main(["petri", "net", str(source), "-o", str(copy)]) == 0
    before, after = (ET.canonicalize(from_file=path, strip_text=True) for path in (source, copy))
    assert before == after


def test_files_of_pm4py_with_the_block_of_prom(tmp_path):
    net = read(tmp_path, PM4PY).net
    assert net.initial == {"source": 1}
    register, casually, thoroughly = net.transitions
    assert (register.delay, register.priority) == (None, 1)
    assert casually.delay == Law("exp", (1 / 1.69176114501161e-05,))
    assert thoroughly.delay == Law("uniform", (2879.9999331715608, 92940.00006706228))
    assert casually.pre == {"p_4": 1}


def test_files_of_pipe(tmp_path):
    found = read(tmp_path, PIPE)
    timed, immediate = found.net.transitions
    assert found.net.initial == {"1": 4}
    assert (timed.delay, timed.pre, timed.servers) == (Law("exp", (0.25,)), {"1": 2}, 1)
    assert (immediate.delay, immediate.inhibitor) == (None, {"3": 1})
    assert "weights" in found.notes[0]


def test_files_by_the_specifications_of_tapaal_and_tina(tmp_path):
    constant, random = read(tmp_path, TAPAAL).net.transitions
    assert (constant.delay, constant.pre) == (2.5, {"a": 1})
    assert (random.delay, random.servers, random.inhibitor) == (Law("exp", (0.25,)), None, {"b": 2})
    assert read(tmp_path, TINA).net.transitions[0].delay == 4


def test_a_written_net_is_read_as_the_same(tmp_path):
    path = tmp_path / "net.pnml"
    for seed in range(40):
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
    assert main(["petri", "net", str(path), "-o", str(tmp_path / "net.json")]) == 0
    assert main(["petri", "solve", str(tmp_path / "net.json")]) == 0


BOMB = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><pnml><net id="n">&b;</net></pnml>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "declares a document type"),
        ('<!DOCTYPE x SYSTEM "file:///etc/passwd"><pnml/>', "declares a document type"),
        (ISO[:700], "no XML"),
        ("", "no XML"),
        ("<pnml/>", "no <pnml> with a <net>"),
        ("<a>" * 300, "nest over 200 deep"),
        (ISO.replace("grammar/ptnet", "grammar/symmetricnet"), "tokens have colors"),
        (PIPE.replace("Default,4", "Default,4,Red,1"), "tokens have colors"),
        (PIPE.replace("<capacity><value>0", "<capacity><value>5"), "has a capacity"),
        (ISO.replace('source="p1"', 'source="p9"'), "'p9' is no node"),
        (ISO.replace('ref="p2"', 'ref="r"'), "'r' leads to no node"),
        (ISO.replace('id="p2"', 'id="p1"'), "two nodes of id 'p1'"),
        (ISO.replace(">2<", ">two<"), "it must be a whole number"),
        (ISO.replace('target="s"', 'target="p2"'), "joins no place and transition"),
        (PM4PY.replace("UNIFORM", "LOGNORMAL"), "distributionType LOGNORMAL"),
        (PM4PY.replace("1.69176114501161e-05", "0"), "examine casually"),
        (PIPE.replace('value="inhibitor"', 'value="reset"'), "type 'reset'"),
        (TAPAAL.replace("[0,inf)", "[2,5]"), "an interval of ages"),
        (TAPAAL.replace('"constant"', '"normal"'), "distribution 'normal'"),
        (TINA.replace("<cn>4</cn><cn>4</cn>", "<cn>4</cn><cn>9</cn>"), "an interval, 4 .. 9"),
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
