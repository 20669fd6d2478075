"""Nets as tools write them."""

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

# made by pm4py 2.7.23, with ProM's block
PM4PY = """<?xml version='1.0' encoding='UTF-8'?>
<pnml>
  <net id="queue" type="http://www.pnml.org/version-2009/grammar/pnmlcoremodel">
    <name>
      <text>queue</text>
    </name>
    <page id="n0">
      <place id="waiting">
        <name>
          <text>waiting</text>
        </name>
        <initialMarking>
          <text>3</text>
        </initialMarking>
      </place>
      <place id="done">
        <name>
          <text>done</text>
        </name>
      </place>
      <place id="served">
        <name>
          <text>served</text>
        </name>
      </place>
      <transition id="enter">
        <name>
          <text>enter</text>
        </name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">IMMEDIATE</property>
          <property key="priority">1</property>
          <property key="invisible">false</property>
          <property key="weight">1.0</property>
        </toolspecific>
      </transition>
      <transition id="check">
        <name>
          <text>check</text>
        </name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">UNIFORM</property>
          <property key="distributionParameters">2.5;7.5</property>
          <property key="priority">0</property>
          <property key="invisible">false</property>
          <property key="weight">0.25</property>
        </toolspecific>
      </transition>
      <transition id="work">
        <name>
          <text>work</text>
        </name>
        <toolspecific tool="StochasticPetriNet" version="0.2">
          <property key="distributionType">EXPONENTIAL</property>
          <property key="distributionParameters">0.25</property>
          <property key="priority">0</property>
          <property key="invisible">false</property>
          <property key="weight">0.5</property>
        </toolspecific>
      </transition>
      <arc id="140014359758864" source="waiting" target="enter">
        <inscription>
          <text>2</text>
        </inscription>
      </arc>
      <arc id="140013947501584" source="served" target="work"/>
      <arc id="140013931390416" source="served" target="check"/>
      <arc id="140013931352976" source="enter" target="served"/>
      <arc id="140013931396240" source="work" target="done"/>
      <arc id="140013931386576" source="check" target="done"/>
    </page>
    <finalmarkings>
      <marking>
        <place idref="done">
          <text>1</text>
        </place>
      </marking>
    </finalmarkings>
  </net>
</pnml>
"""

# a fragment of a test net as PIPE 5 (MIT license) writes it
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

# by specification: a net of our own in the form of the tool's example nets, which were read by hand
TAPAAL = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<pnml xmlns="http://www.informatik.hu-berlin.de/top/pnml/ptNetb">
  <declaration><structure><declarations><namedsort id="dot" name="dot"><dot/></namedsort>
  </declarations></structure></declaration>
  <constant name="pair" value="2"/>
  <net active="true" id="N" type="P/T net">
    <place displayName="true" id="a" initialMarking="2" invariant="&lt; inf" name="a" positionX="1">
      <type><text>dot</text><structure><usersort declaration="dot"/></structure></type>
      <hlinitialMarking><text>(2'dot)</text><structure/></hlinitialMarking>
    </place>
    <place displayName="true" id="b" initialMarking="0" invariant="&lt; inf" name="b">
      <type><text>dot</text><structure><usersort declaration="dot"/></structure></type>
    </place>
    <transition angle="0" distribution="constant" firingMode="Oldest" id="t" infiniteServer="false"
      priority="0" urgent="false" value="2.5" weight="1.0"/>
    <transition angle="0" distribution="exponential" id="u" infiniteServer="true" name="u"
      priority="1" rate="4.0" urgent="false" weight="1.0"/>
    <transition distribution="constant" id="v" urgent="true" value="0.0" weight="inf"/>
    <arc id="A0" inscription="[0,inf)" source="a" target="t" type="timed" weight="pair">
      <hlinscription><text>2'dot</text></hlinscription></arc>
    <arc id="A1" inscription="1" source="t" target="b" type="normal" weight="3"/>
    <arc id="I2" inscription="[0,inf)" source="b" target="u" type="tapnInhibitor" weight="2"/>
    <arc id="A3" inscription="[0,inf):1" source="b" target="u" transportID="1" type="transport"
      weight="1"/>
    <arc id="A4" inscription="[0,inf):1" source="u" target="a" transportID="1" type="transport"
      weight="1"/>
    <arc id="A5" inscription="[0,inf)" source="b" target="v" type="timed" weight="1"/>
  </net>
  <k-bound bound="3"/><feature isColored="false" isGame="false" isTimed="true"/>
</pnml>"""

# by specification: a net of our own in the form of the tool's example nets, which were read by hand
TINA = """<?xml version="1.0" encoding="UTF-8"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
 <net id="n-1-2-0" type ="http://www.laas.fr/tina/tpn">
  <name><text>two</text></name>
 <page id="g-1-2-1">
  <place id="p-1-2-2"><name><text>p1</text></name>
   <initialMarking><text>1</text></initialMarking></place>
  <transition id="t-1-2-3"><name><text>t1</text></name>
   <delay>
    <interval xmlns="http://www.w3.org/1998/Math/MathML" closure="closed">
     <cn>4</cn>
     <cn>4</cn>
    </interval>
    <graphics><offset x="10" y="0" /></graphics>
   </delay>
  </transition>
  <arc id="e-1-2-4" source="p-1-2-2" target="t-1-2-3">
  </arc>
 </page>
 </net>
</pnml>"""
