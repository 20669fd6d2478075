"""PNML files as nets: ISO 15909-2, ProM and pm4py, PIPE, TAPAAL, TINA and our own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import attrs

from parcast.errors import FileError, did_you_mean
from parcast.files import read_xml
from parcast_petri.nets.net import Net
from parcast_petri.nets.net_files import net_of
from parcast_petri.nets.pnml.ages import Ages
from parcast_petri.nets.pnml.arcs import both_ways, count_of, inscription, role_of
from parcast_petri.nets.pnml.elements import (
    ARCS,
    child,
    children,
    chosen_net,
    is_arc,
    label,
    local,
    title,
)
from parcast_petri.nets.pnml.sorts import structure
from parcast_petri.nets.pnml.times import fields
from parcast_petri.nets.pnml.unfolding import Arc, Unfolding, check_transitions, is_colored

#: Types of nets in nets, whose labels say which transitions of several nets fire as one.
_NESTED = ("NPN",)

_NODES = ("place", "transition", "referencePlace", "referenceTransition", *ARCS)


@attrs.frozen
class Document:
    """The net of a file, and what was left aside."""

    net: Net
    notes: tuple[str, ...] = ()
    unfolded: bool = False  #: tokens have colors in the file


def read_pnml(path: Path, name: str | None = None) -> Document:
    """Return the net of a PNML file, the one of a name or id where there are several.

    Places and transitions go by their ids; in files that parcast wrote, by their names. Tokens of
    finitely many colors are unfolded: a place for each color, a transition for all values of
    variables that its condition takes.

    Raises
    ------
    FileError
        If it is no place/transition net, or says something that would be lost.
    """
    root = read_xml(path)
    try:
        reading = _Reading(root, name)
        net, notes = reading.net()
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    return Document(net, tuple(dict.fromkeys(notes)), reading.colors is not None)


class _Reading:
    def __init__(self, root: ET.Element, name: str | None) -> None:
        self.root = root
        nets = [root] if local(root) == "net" else list(children(root, "net"))
        if local(root) not in ("pnml", "net") or not nets:
            raise FileError(f"the file has no <pnml> with a <net>, but <{local(root)}>")
        self.element = chosen_net(nets, name)
        if self.element.get("type") in _NESTED:
            raise FileError(f"the net is of type {self.element.get('type')!r}, whose tokens are "
                            "nets and whose transitions fire together; known are places and "
                            "transitions, colored or not")  # fmt: skip
        declaring = root if len(nets) == 1 else self.element
        self.colors = Unfolding(declaring) if is_colored(self.element) else None
        self.nodes = list(self._found(self.element))
        self.ours = any(
            block.get("tool") == "parcast" for block in children(self.element, "toolspecific")
        )
        self.notes: list[str] = []
        self.names = self._named()
        self.constants = {
            constant.get("name", ""): constant.get("value", "")
            for constant in children(root, "constant")
        }
        self.ages = Ages(self.constants)

    def _found(self, element: ET.Element) -> Iterator[ET.Element]:
        for node in element:
            if local(node) == "page":
                yield from self._found(node)
            elif local(node) in _NODES:
                yield node
            elif local(node) in ("transport-arc", "transportArc"):
                yield from both_ways(node)

    def _named(self) -> dict[str, str]:
        """Return each node's name by its id, references resolved."""
        names: dict[str, str] = {}
        references: dict[str, str] = {}
        for node in self.nodes:
            if is_arc(node):
                continue
            id_ = node.get("id")
            if id_ is None:
                raise FileError(f"a {local(node)} has no id")
            if id_ in names or id_ in references:
                raise FileError(f"there are two nodes of id {id_!r}")
            if local(node).startswith("reference"):
                if child(node, "initialMarking") is not None:
                    raise FileError(f"the reference {id_!r} has tokens; its place has them")
                references[id_] = node.get("ref", "")
            else:
                names[id_] = (label(node, "name") or id_) if self.ours else id_
        for id_, first in references.items():
            seen, at = {id_}, first
            while at in references and at not in seen:
                seen.add(at)
                at = references[at]
            if at not in names:
                raise FileError(f"the reference {id_!r} leads to no node, but to {at!r}")
            names[id_] = names[at]
        return names

    def net(self) -> tuple[Net, list[str]]:
        if self.colors is not None:
            return self._unfolded(self.colors)
        places: dict[str, int] = {}
        transitions: dict[str, dict[str, Any]] = {}
        dialects: set[str | None] = set()
        for node in self.nodes:
            if local(node) == "place":
                places[self.names[node.get("id", "")]] = self._tokens(node)
            elif local(node) == "transition":
                name = self.names[node.get("id", "")]
                dialect, timing, notes = fields(node, name)
                dialects.add(dialect)
                self.notes += notes
                transitions[name] = {**timing, "name": name}
        for node in self.nodes:
            if is_arc(node):
                self._arc(node, places, transitions)
        if self.ages.set_delays(transitions):
            self.notes.append(
                "ages of tokens are kept, as delays of the transitions that take them"
            )
            dialects.add("ages")
            if all("delay" in transition for transition in transitions.values()):
                dialects.discard(None)
        self._check_size(len(places), len(transitions))
        return self._built(places, list(transitions.values()), dialects)

    def _built(
        self, places: dict[str, int], transitions: list[dict[str, Any]], dialects: set[str | None]
    ) -> tuple[Net, list[str]]:
        if dialects == {None}:
            self.notes.append("the file states no times: every transition is immediate")
        elif None in dialects:
            self.notes.append("some transitions have no time: they are immediate")
        data = {
            "name": title(self.element) or self.element.get("id") or "net",
            "places": list(places),
            "transitions": transitions,
            "initial_marking": {name: tokens for name, tokens in places.items() if tokens},
        }
        return net_of(data), self.notes

    def _unfolded(self, colors: Unfolding) -> tuple[Net, list[str]]:
        """Return the net with a place for each color."""
        ends: dict[str, list[Arc]] = {}
        owners = {self.names[n.get("id", "")] for n in self.nodes if local(n) == "transition"}
        for node in self.nodes:
            if local(node) == "place":
                name = self.names[node.get("id", "")]
                self._check_place(node, name)
                colors.add_place(node, name)
        for node in self.nodes:
            if is_arc(node):
                source, target = self._end(node, "source"), self._end(node, "target")
                role, place, owner = role_of(node, source, target, set(colors.names), owners)
                ages = f"the inscription of arc {source!r} to {target!r}"
                self.ages.add_arc(node, role, place, owner, ages)
                weight = partial(self._weight, node, source, target)
                ends.setdefault(owner, []).append(colors.arc(node, role, place, weight))
        self.ages.refuse()
        transitions: list[dict[str, Any]] = []
        dialects: set[str | None] = set()
        for node in self.nodes:
            if local(node) != "transition":
                continue
            name = self.names[node.get("id", "")]
            dialect, timing, notes = fields(node, name)
            dialects.add(dialect)
            self.notes += notes
            for full, arcs in colors.instances(node, name, ends.get(name, ())):
                transitions.append({**timing, "name": full, **arcs})
                check_transitions(len(transitions))
        self.notes.append(
            f"colors are unfolded: {len(colors.names):,} places and {len(owners):,} transitions "
            f"become {len(colors.places):,} and {len(transitions):,}"
        )
        return self._built(colors.places, transitions, dialects)

    def _check_place(self, place: ET.Element, name: str) -> None:
        """Refuse what would be lost."""
        self.ages.add_place(place, name)
        if int(count_of(label(place, "capacity") or "0", f"the capacity of place {name!r}")):
            raise FileError(f"place {name!r} has a capacity, which would be lost; add a place of "
                            "free slots")  # fmt: skip

    def _tokens(self, place: ET.Element) -> int:
        name = self.names[place.get("id", "")]
        self._check_place(place, name)
        sort = child(place, "type")
        if structure(sort) is None and label(place, "type") not in (None, "dot"):
            raise FileError(f"place {name!r} has tokens of colors and says their sort as text "
                            "only; export its structure")  # fmt: skip
        text = label(place, "initialMarking") or place.get("initialMarking") or "0"
        return self._count(text, f"the marking of place {name!r}", child(place, "hlinitialMarking"))

    def _arc(
        self, arc: ET.Element, places: dict[str, int], transitions: dict[str, dict[str, Any]]
    ) -> None:
        source, target = self._end(arc, "source"), self._end(arc, "target")
        key, place, name = role_of(arc, source, target, places, transitions)
        role = f"the inscription of arc {source!r} to {target!r}"
        self.ages.add_arc(arc, key, place, name, role)
        weight, owner = self._weight(arc, source, target), transitions[name]
        arcs = owner.setdefault(key, {})
        arcs[place] = (
            min(weight, arcs.get(place, weight)) if key == "inhibitor"
            else arcs.get(place, 0) + weight
        )  # fmt: skip

    def _weight(self, arc: ET.Element, source: str, target: str) -> int:
        role = f"the weight of arc {source!r} to {target!r}"
        return self._count(inscription(arc), role, child(arc, "hlinscription"))

    def _count(self, text: str, role: str, colored: ET.Element | None = None) -> int:
        """Return a number of tokens, which TAPAAL may name and say again as tokens ``dot``."""
        count = count_of(self.constants.get(text, text), role)
        if colored is not None:
            dotted = "".join(node.text or "" for node in children(colored, "text")).strip()
            if re.fullmatch(rf"\(*{count}'dot\)*", dotted) is None:
                raise FileError(
                    f"{role} is {count} and also {dotted!r}; unfold the net if its tokens have "
                    "colors"
                )
        return count

    def _end(self, arc: ET.Element, end: str) -> str:
        id_ = arc.get(end, "")
        if id_ not in self.names:
            hint = did_you_mean(id_, self.names)
            raise FileError(f"arc {arc.get('id')!r}: its {end} {id_!r} is no node.{hint}")
        return self.names[id_]

    def _check_size(self, places: int, transitions: int) -> None:
        """Hold the net to the size that the nupn block of model checking contests states."""
        for block in self.element.iter():
            if local(block) != "toolspecific" or block.get("tool") != "nupn":
                continue
            size = child(block, "size")
            if size is None:
                continue
            stated = (size.get("places"), size.get("transitions"))
            if stated != (str(places), str(transitions)):
                raise FileError(
                    f"the nupn block states {stated[0]} places and {stated[1]} transitions, and "
                    f"the file has {places} and {transitions}; it is cut off or changed"
                )
