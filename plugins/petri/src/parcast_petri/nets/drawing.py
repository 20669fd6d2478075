"""Nets as pictures: DOT for Graphviz, and SVG laid out here."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from parcast.errors import FileError
from parcast_petri.machine.laws import Law
from parcast_petri.nets.net import Given, Net, Tokens, Transition

#: Larger nets are no picture any more.
MOST_NODES = 3000
_ACROSS, _DOWN, _LEFT = 150, 60, 30
_STYLE = """svg { --ink: #1a1a1a; --pale: #666; --paper: #fff; --timed: #dde8f5; --token: #ffd24d;
  background: var(--paper); font: 9px system-ui, sans-serif; text-anchor: middle; }
@media (prefers-color-scheme: dark) { svg { --ink: #e6e6e6; --pale: #9a9a9a; --paper: #16181c;
  --timed: #2c4763; --token: #8a6500; } }
text { fill: var(--ink); stroke: var(--paper); stroke-width: 3px; paint-order: stroke; }
text.name, text.timing { text-anchor: start; }
text.timing { fill: var(--pale); }
text.tokens { font-size: 12px; stroke: none; }
line { stroke: var(--pale); }
marker path { fill: var(--pale); }
.place, .transition { fill: var(--paper); stroke: var(--ink); }
.timed { fill: var(--timed); }
.immediate { fill: var(--ink); }
.marked { fill: var(--token); }
.firing { stroke: #e8590c; stroke-width: 4px; }"""


def dot(net: Net) -> str:
    """Return a net in Graphviz's language."""
    lines = ["digraph net {", "  rankdir=TB; node [fontsize=10]; edge [fontsize=9];"]
    for place in net.places:
        tokens = net.initial.get(place, 0)
        text = _quoted(f"{place}\n{tokens or ''}".strip())
        lines.append(f"  {_quoted('p ' + place)} [shape=circle label={text}];")
    for transition in net.transitions:
        text = _quoted(f"{transition.name}\n{timing(transition)}")
        lines.append(f"  {_quoted('t ' + transition.name)} [shape=box label={text}];")
        for arcs, way, style in (
            (transition.pre, "in", ""),
            (transition.inhibitor, "in", " arrowhead=odot"),
            (transition.post, "out", ""),
        ):
            for place, weight in arcs.items():
                ends = [_quoted("p " + place), _quoted("t " + transition.name)]
                tail, head = ends if way == "in" else reversed(ends)
                label = f'label="{weight}"' if weight != 1 else ""
                lines.append(f"  {tail} -> {head} [{label}{style}];")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


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


def svg(net: Net) -> str:
    """Return a net as SVG, its nodes in layers by their distance from the first tokens.

    Raises
    ------
    FileError
        If the net is too large to be looked at.
    """
    count = len(net.places) + len(net.transitions)
    if count > MOST_NODES:
        raise FileError(
            f"the net has {count:,} nodes, more than a picture shows ({MOST_NODES:,}); use a "
            "smaller p, or write .dot or .pnml"
        )
    at = _positions(net)
    width = max((x for x, _ in at.values()), default=0) + _ACROSS
    height = max((y for _, y in at.values()), default=0) + _DOWN
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">'
        ),
        f"<title>{escape(net.name)}</title>",
        f"<style>{_STYLE}</style>",
        (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
        ),
    ]
    for transition in net.transitions:
        lines += _arcs(transition, at)
    for place in net.places:
        lines += _place(place, net.initial.get(place, 0), at["place", place])
    for transition in net.transitions:
        lines += _transition(transition, at["transition", transition.name])
    return "\n".join([*lines, "</svg>", ""])


_Node = tuple[str, str]


def _positions(net: Net) -> dict[_Node, tuple[int, int]]:
    """Return where each node stands."""
    following: dict[_Node, list[_Node]] = defaultdict(list)
    for transition in net.transitions:
        box = ("transition", transition.name)
        for place in transition.pre:
            following["place", place].append(box)
        following[box] += [("place", place) for place in transition.post]
    nodes: list[_Node] = [("place", place) for place in net.places]
    nodes += [("transition", transition.name) for transition in net.transitions]
    layer: dict[_Node, int] = {}
    marked = [node for node in nodes if node[0] == "place" and net.initial.get(node[1])]
    for start in [*marked, *nodes]:
        if start in layer:
            continue
        layer[start] = 0
        waiting = deque([*marked] if start in marked else [start])
        layer |= dict.fromkeys(waiting, 0)
        while waiting:
            node = waiting.popleft()
            for after in following[node]:
                if after not in layer:
                    layer[after] = layer[node] + 1
                    waiting.append(after)
    return _spread(nodes, layer, following)


def _spread(
    nodes: Sequence[_Node], layer: Mapping[_Node, int], following: Mapping[_Node, Sequence[_Node]]
) -> dict[_Node, tuple[int, int]]:
    """Return where each node stands in its layer: near what it follows, so that few arcs cross."""
    layers: dict[int, list[_Node]] = defaultdict(list)
    for node in nodes:
        layers[layer[node]].append(node)
    before: dict[_Node, list[int]] = defaultdict(list)
    positions = {}
    for depth in sorted(layers):
        members = sorted(layers[depth], key=lambda node: _mean(before[node]))
        for number, node in enumerate(members):
            positions[node] = (_ACROSS * number + _LEFT, _DOWN * depth + _DOWN // 2)
            for after in following.get(node, ()):
                if layer[after] > depth:
                    before[after].append(number)
    return positions


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _arcs(transition: Transition, at: Mapping[_Node, tuple[int, int]]) -> list[str]:
    box = at["transition", transition.name]
    lines = []
    for arcs, inward, dash in (
        (transition.pre, True, ""),
        (transition.inhibitor, True, ' stroke-dasharray="3"'),
        (transition.post, False, ""),
    ):
        for place, weight in arcs.items():
            circle = at["place", place]
            (x1, y1), (x2, y2) = (circle, box) if inward else (box, circle)
            sign = (y2 > y1) - (y2 < y1)
            leave, reach = (12, 7) if inward else (7, 12)
            aside = max(-16, min(16, (circle[0] - box[0]) // 8))  # on the nearer part of the bar
            x1, x2 = (x1, x2 + aside) if inward else (x1 + aside, x2)
            lines.append(
                f'<line x1="{x1}" y1="{y1 + sign * leave}" x2="{x2}" y2="{y2 - sign * reach}" '
                f'marker-end="url(#head)"{dash}/>'
            )
            if weight != 1:
                lines.append(f'<text x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2}">{weight}</text>')
    return lines


def _place(name: str, tokens: int, where: tuple[int, int]) -> list[str]:
    x, y = where
    name_attribute = f"data-name={quoteattr(name)}"
    marked = " marked" if tokens else ""
    return [
        f'<circle class="place{marked}" {name_attribute} cx="{x}" cy="{y}" r="12"/>',
        f'<text class="tokens" {name_attribute} x="{x}" y="{y + 4}">{tokens or ""}</text>',
        f'<text class="name" x="{x + 16}" y="{y + 3}">{escape(name)}</text>',
    ]


def _transition(transition: Transition, where: tuple[int, int]) -> list[str]:
    x, y = where
    kind = "immediate" if transition.delay is None else "timed"
    return [
        (
            f'<rect class="transition {kind}" data-name={quoteattr(transition.name)} x="{x - 20}" '
            f'y="{y - 7}" width="40" height="14"/>'
        ),
        (
            f'<text class="name" x="{x + 24}" y="{y - 1}">{escape(transition.name)}</text>'
            f'<text class="timing" x="{x + 24}" y="{y + 9}">{escape(timing(transition))}</text>'
        ),
    ]
