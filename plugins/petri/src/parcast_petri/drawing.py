"""Nets as pictures: DOT for Graphviz, and SVG laid out here."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from parcast.errors import FileError
from parcast_petri.laws import Law
from parcast_petri.net import Given, Net, Tokens, Transition

#: Larger nets are no picture any more.
MOST_NODES = 3000
_ACROSS, _DOWN, _LEFT = 150, 60, 30


def dot(net: Net) -> str:
    """Return a net in Graphviz's language."""
    lines = ["digraph net {", "  rankdir=TB; node [fontsize=10]; edge [fontsize=9];"]
    for place in net.places:
        tokens = net.initial.get(place, 0)
        text = _quoted(f"{place}\n{tokens or ''}".strip())
        lines.append(f"  {_quoted('p ' + place)} [shape=circle label={text}];")
    for one in net.transitions:
        text = _quoted(f"{one.name}\n{timing(one)}")
        lines.append(f"  {_quoted('t ' + one.name)} [shape=box label={text}];")
        for arcs, way, style in (
            (one.pre, "in", ""), (one.inhibitor, "in", " arrowhead=odot"), (one.post, "out", "")
        ):  # fmt: skip
            for place, weight in arcs.items():
                ends = [_quoted("p " + place), _quoted("t " + one.name)]
                tail, head = ends if way == "in" else reversed(ends)
                label = f'label="{weight}"' if weight != 1 else ""
                lines.append(f"  {tail} -> {head} [{label}{style}];")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def timing(one: Transition) -> str:
    """Return when a transition fires, in a few words."""
    delay = one.delay
    match delay:
        case None:
            said = "at once"
        case Tokens():
            said = f"{delay.text} s"
        case Law():
            said = f"{delay.law} {delay.mean:.4g} s"
        case Given():
            said = "given"
        case _:
            said = f"{float(delay):.6g} s"
    if one.speed is not None:
        said += f" at {one.speed.text}"
    return said


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
            f"the net has {count:,} nodes, more than a picture shows ({MOST_NODES:,}); ask a "
            "smaller p, or write .dot or .pnml"
        )
    at = _positions(net)
    width = max((x for x, _ in at.values()), default=0) + _ACROSS
    height = max((y for _, y in at.values()), default=0) + _DOWN
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="sans-serif" font-size="9" text-anchor="middle">'
        ),
        f"<title>{escape(net.name)}</title>",
        (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
        ),
    ]
    for one in net.transitions:
        lines += _arcs(one, at)
    for place in net.places:
        lines += _place(place, net.initial.get(place, 0), at["place", place])
    for one in net.transitions:
        lines += _transition(one, at["transition", one.name])
    return "\n".join([*lines, "</svg>", ""])


_Node = tuple[str, str]


def _positions(net: Net) -> dict[_Node, tuple[int, int]]:
    """Return where each node stands."""
    following: dict[_Node, list[_Node]] = defaultdict(list)
    for one in net.transitions:
        transition = ("transition", one.name)
        for place in one.pre:
            following["place", place].append(transition)
        following[transition] += [("place", place) for place in one.post]
    nodes: list[_Node] = [("place", place) for place in net.places]
    nodes += [("transition", one.name) for one in net.transitions]
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
    found = {}
    for depth in sorted(layers):
        members = sorted(layers[depth], key=lambda node: _mean(before[node]))
        for number, node in enumerate(members):
            found[node] = (_ACROSS * number + _LEFT, _DOWN * depth + _DOWN // 2)
            for after in following.get(node, ()):
                if layer[after] > depth:
                    before[after].append(number)
    return found


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _arcs(one: Transition, at: Mapping[_Node, tuple[int, int]]) -> list[str]:
    here = at["transition", one.name]
    lines = []
    for arcs, inward, dash in (
        (one.pre, True, ""), (one.inhibitor, True, ' stroke-dasharray="3"'), (one.post, False, "")
    ):  # fmt: skip
        for place, weight in arcs.items():
            there = at["place", place]
            (x1, y1), (x2, y2) = (there, here) if inward else (here, there)
            sign = (y2 > y1) - (y2 < y1)
            leave, reach = (12, 7) if inward else (7, 12)
            lines.append(
                f'<line x1="{x1}" y1="{y1 + sign * leave}" x2="{x2}" y2="{y2 - sign * reach}" '
                f'stroke="#777"{dash} marker-end="url(#head)"/>'
            )
            if weight != 1:
                lines.append(f'<text x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2}">{weight}</text>')
    return lines


def _place(name: str, tokens: int, where: tuple[int, int]) -> list[str]:
    x, y = where
    named = f"data-name={quoteattr(name)}"
    inside = (
        f'<text class="tokens" {named} x="{x}" y="{y + 4}" font-size="12">{tokens or ""}</text>'
    )
    return [
        (f'<circle class="place" {named} cx="{x}" cy="{y}" r="12" fill="white" stroke="black"/>'),
        f'{inside}<text x="{x + 16}" y="{y + 3}" text-anchor="start">{escape(name)}</text>',
    ]


def _transition(one: Transition, where: tuple[int, int]) -> list[str]:
    x, y = where
    fill = "black" if one.delay is None else "#dde8f5"
    return [
        (
            f'<rect class="transition" data-name={quoteattr(one.name)} x="{x - 20}" y="{y - 7}" '
            f'width="40" height="14" fill="{fill}" stroke="black"/>'
        ),
        (
            f'<text x="{x + 24}" y="{y - 1}" text-anchor="start">{escape(one.name)}</text>'
            f'<text x="{x + 24}" y="{y + 9}" text-anchor="start" fill="#555">'
            f"{escape(timing(one))}</text>"
        ),
    ]
