"""What arcs of PNML say: ends, kinds and numbers of tokens, in the words of several tools."""

from __future__ import annotations

from collections.abc import Container
from xml.etree import ElementTree as ET

from parcast.errors import FileError
from parcast_petri.nets.pnml.elements import child, label, local


def role_of(
    arc: ET.Element, source: str, target: str, places: Container[str], owners: Container[str]
) -> tuple[str, str, str]:
    """Return what an arc is (pre, post or inhibitor), its place and its transition."""
    kind = _arc_kind(arc)
    if source in places and target in owners:
        key, place, owner = "pre", source, target
    elif source in owners and target in places:
        key, place, owner = "post", target, source
    else:
        raise FileError(f"the arc {source!r} to {target!r} joins no place and transition")
    if kind == "inhibitor" and key == "pre":
        return kind, place, owner
    if kind != "normal":
        raise FileError(
            f"the arc {source!r} to {target!r} is of type {kind!r}; "
            "normal and, from places, inhibitor ones are read"
        )
    return key, place, owner


def _arc_kind(arc: ET.Element) -> str:
    if local(arc) == "inhibitorArc":
        return "inhibitor"
    type_element = child(arc, "type")
    if type_element is not None:
        return type_element.get("value", "normal")
    kind = label(arc, "arctype") or arc.get("type", "normal")
    # TAPAAL's transport arcs keep the ages of tokens, of which `Ages` knows
    kinds = {"tapnInhibitor": "inhibitor", "timed": "normal", "transport": "normal"}
    return kinds.get(str(kind), str(kind))


def both_ways(arc: ET.Element) -> tuple[ET.Element, ET.Element]:
    """Return the two arcs that one of TAPAAL's engines' transport arcs is."""
    transition = arc.get("transition", "")
    weight = {"weight": arc.get("weight", "1")}
    attributes = {"source": arc.get("source", ""), "target": transition, "type": "transport"}
    given = {"source": transition, "target": arc.get("target", ""), "type": "transport"}
    ages = {"inscription": arc.get("inscription", "[0,inf)")}
    return (
        ET.Element("inputArc", attributes | ages | weight),
        ET.Element("outputArc", given | {"inscription": "1"} | weight),
    )


def inscription(arc: ET.Element) -> str:
    """Return the text of the number of tokens; ages stand beside it."""
    text = label(arc, "inscription") or arc.get("inscription") or "1"
    if text.startswith(("[", "(")):  # TAPAAL: ages of tokens, and the number of a transport
        text = "1"
    return arc.get("weight") or text


def count_of(text: str, role: str) -> int:
    """Return a number of tokens; PIPE writes ``Default,3``."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 2 or (len(parts) == 2 and parts[0] != "Default"):
        raise FileError(f"{role} is {text!r}: its tokens have colors; unfold the net first")
    try:
        return int(parts[-1] or 0)
    except ValueError:
        raise FileError(f"{role} is {text!r}; it must be a whole number") from None
