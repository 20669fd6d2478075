"""Nets as pictures: the text that Graphviz draws."""

from __future__ import annotations

from collections.abc import Iterator

from parcast.errors import FileError
from parcast.files import digraph, quoted
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Given, Net, Tokens, Transition

#: Larger nets are no picture any more.
MOST_NODES = 3000
_LOOK = 'node [margin="0.04,0.03", height=0.35]; nodesep=0.3; ranksep=0.35;'
_NONE = "\N{NO-BREAK SPACE}"  #: the line of tokens where there are none


def dot(net: Net) -> str:
    """Return a net in DOT: the place of index 0 has the id ``p0``, the transition ``t0``."""
    lines = [_LOOK]
    for index, place in enumerate(net.places):
        tokens = net.initial.get(place, 0)
        label = quoted(f"{place}\n{tokens or _NONE}")
        color = ', fillcolor="#ffd24d"' if tokens else ""
        lines.append(f"{_place(place)} [id=p{index}, shape=ellipse, label={label}{color}];")
    for index, transition in enumerate(net.transitions):
        label = quoted(f"{transition.name}\n{timing(transition)}")
        color = "#eeeeee" if transition.delay is None else "#dde8f5"
        box = f'id=t{index}, shape=box, label={label}, fillcolor="{color}"'
        lines += [f"{_transition(transition)} [{box}];", *_arcs(transition)]
    return digraph(net.name, lines)


def _place(name: str) -> str:
    return quoted(f"p {name}")


def _transition(transition: Transition) -> str:
    return quoted(f"t {transition.name}")


def _arcs(transition: Transition) -> Iterator[str]:
    for arcs, inward, style in (
        (transition.pre, True, ""),
        (transition.inhibitor, True, "arrowhead=odot"),
        (transition.post, False, ""),
    ):
        for place, weight in arcs.items():
            ends = _place(place), _transition(transition)
            tail, head = ends if inward else reversed(ends)
            label = f"label={weight} " if weight != 1 else ""
            yield f"{tail} -> {head} [{label}{style}];"


def timing(transition: Transition) -> str:
    """Return when a transition fires, in a few words."""
    delay = transition.delay
    match delay:
        case None:
            text = "at once"
        case Tokens():
            text = f"{delay.text} s"
        case Law():
            text = f"{delay.law} {delay.mean:.4g} s"
        case Given():
            text = "given"
        case _:
            text = f"{float(delay):.6g} s"
    if transition.speed is not None:
        text += f" at {transition.speed.text}"
    return text


def picture(net: Net) -> str:
    """Return a net in DOT that is small enough to be looked at.

    Raises
    ------
    FileError
        If it is not.
    """
    count = len(net.places) + len(net.transitions)
    if count > MOST_NODES:
        raise FileError(
            f"the net has {count:,} nodes, more than a picture shows ({MOST_NODES:,}); use a "
            "smaller p, or write .dot or .pnml"
        )
    return dot(net)
