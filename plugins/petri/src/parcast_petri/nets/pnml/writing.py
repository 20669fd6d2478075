"""Nets as PNML: an ISO 15909-2 place/transition net with our times and, where it can, ProM's."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from parcast.files import write_bytes
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Given, Net, NetError, Tokens, Transition
from parcast_petri.nets.net_files import transition_data

_SPACE = "http://www.pnml.org/version-2009/grammar/pnml"
_TYPE = "http://www.pnml.org/version-2009/grammar/ptnet"


def write_pnml(net: Net, path: Path) -> None:
    """Write a net; `read_pnml` gives it back, equal in every number."""
    ET.indent(root := element(net))
    write_bytes(path, ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def element(net: Net) -> ET.Element:
    """Return the document of a net.

    Raises
    ------
    NetError
        If it has links, for which there are no elements.
    """
    if net.links:
        raise NetError(f"{net.name}: no PNML says max-min shares of links; write .json")
    root = ET.Element("pnml", xmlns=_SPACE)
    body = ET.SubElement(root, "net", id="net", type=_TYPE)
    _labelled(body, "name", net.name)
    ET.SubElement(body, "toolspecific", tool="parcast", version="1")
    page = ET.SubElement(body, "page", id="page")
    ids: dict[str, str] = {}
    for number, place in enumerate(net.places):
        ids[place] = f"p{number}"
        node = ET.SubElement(page, "place", id=ids[place])
        _labelled(node, "name", place)
        if tokens := net.initial.get(place, 0):
            _labelled(node, "initialMarking", str(tokens))
    arcs = []
    for number, transition in enumerate(net.transitions):
        id_ = f"t{number}"
        node = ET.SubElement(page, "transition", id=id_)
        _labelled(node, "name", transition.name)
        _times(node, transition)
        arcs += [(ids[p], id_, n, "") for p, n in transition.pre.items()]
        arcs += [(ids[p], id_, n, "inhibitor") for p, n in transition.inhibitor.items()]
        arcs += [(id_, ids[p], n, "") for p, n in transition.post.items()]
    for number, (source, target, weight, kind) in enumerate(arcs):
        arc = ET.SubElement(page, "arc", id=f"a{number}", source=source, target=target)
        if weight != 1:
            _labelled(arc, "inscription", str(weight))
        if kind:
            ET.SubElement(arc, "type", value=kind)
    return root


def _labelled(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(ET.SubElement(parent, tag), "text").text = text


def _times(node: ET.Element, transition: Transition) -> None:
    data = transition_data(transition)
    for arcs in ("name", "pre", "post", "inhibitor"):
        data.pop(arcs, None)
    block = ET.SubElement(node, "toolspecific", tool="parcast", version="1")
    ET.SubElement(block, "transition").text = json.dumps(data)
    prom = _prom(transition)
    if prom is None:
        return
    block = ET.SubElement(node, "toolspecific", tool="StochasticPetriNet", version="0.2")
    kind, values = prom
    properties = {"distributionType": kind, "distributionParameters": values,
                  "priority": str(transition.priority), "weight": "1.0"}  # fmt: skip
    for key, value in properties.items():
        if value:
            ET.SubElement(block, "property", key=key).text = value


def _prom(transition: Transition) -> tuple[str, str] | None:
    """Return ProM's words for a delay, or None where it has none."""
    delay = transition.delay
    if delay is None:
        return "IMMEDIATE", ""
    if isinstance(delay, Law):
        if delay.law == "exp":
            return "EXPONENTIAL", repr(1 / delay.mean)
        if delay.law == "uniform":
            return "UNIFORM", ";".join(map(repr, delay.parameters))
        return None
    if isinstance(delay, Tokens | Given) or transition.speed is not None:
        return None
    return "DETERMINISTIC", repr(float(delay))
