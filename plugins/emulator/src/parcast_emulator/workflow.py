"""Work-flow graphs: the operations on one block and what each waits for (the paper's figure 2)."""

from __future__ import annotations

from collections import Counter
from typing import Literal
from xml.sax.saxutils import escape

import attrs

Operation = Literal["read", "write", "send", "receive", "compute"]


@attrs.frozen
class Step:
    """One operation on a block, on the node that has it on disk or on one that it is sent to."""

    name: str
    operation: Operation
    location: str  #: which nodes do it, in words


@attrs.frozen
class Dependency:
    """``after`` waits for ``before``; a remote one crosses the network."""

    before: str
    after: str
    remote: bool = False


@attrs.frozen
class WorkFlow:
    """The life of one block."""

    name: str
    steps: tuple[Step, ...]
    dependencies: tuple[Dependency, ...]


def passing_on(name: str, holder: str, consumer: str) -> WorkFlow:
    """Return the life of blocks that are read, sent to others, and computed on there."""
    return WorkFlow(
        name,
        (
            Step("read", "read", holder),
            Step("send", "send", holder),
            Step("receive", "receive", consumer),
            Step("compute", "compute", consumer),
        ),
        (
            Dependency("read", "send"),
            Dependency("send", "receive", remote=True),
            Dependency("receive", "compute"),
        ),
    )


_WIDTH, _HEIGHT, _GAP = 190, 46, 56
_TEXT = 'font-family="sans-serif" font-size="14" text-anchor="middle"'
_TIP = 'id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"'


def draw(graph: WorkFlow) -> str:
    """Return the graph as SVG: locations side by side, remote dependencies dashed."""
    locations = list(dict.fromkeys(step.location for step in graph.steps))
    level = _levels(graph)
    lane, lanes = _lanes(graph, level)
    first = {
        location: sum(lanes[earlier] for earlier in locations[:n])
        for n, location in enumerate(locations)
    }
    at = {
        step.name: (
            40 + (first[step.location] + lane[step.name]) * (_WIDTH + 80),
            70 + level[step.name] * (_HEIGHT + _GAP),
        )
        for step in graph.steps
    }
    width = sum(lanes.values()) * (_WIDTH + 80)
    height = 70 + (max(level.values()) + 1) * (_HEIGHT + _GAP) - _GAP + 40
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_TEXT}>',
        f"<defs><marker {_TIP}>" + '<path d="M0 0L8 4L0 8z"/></marker></defs>',
        f"<title>{escape(graph.name)}</title>",
    ]
    for location in locations:
        x = (first[location] + lanes[location] / 2) * (_WIDTH + 80)
        parts.append(f'<text x="{x}" y="40" fill="#555">{escape(location)}</text>')
    parts += [
        _arrow(at[dependency.before], at[dependency.after], dependency.remote)
        for dependency in graph.dependencies
    ]
    parts += [_box(*at[step.name], step.name) for step in graph.steps]
    return "\n".join([*parts, "</svg>", ""])


def _lanes(graph: WorkFlow, level: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return in which lane of its location each operation is, and how many lanes locations have.

    Operations of one location that wait for as many others are side by side.
    """
    lane: dict[str, int] = {}
    count: Counter[tuple[str, int]] = Counter()
    for step in graph.steps:
        lane[step.name] = count[step.location, level[step.name]]
        count[step.location, level[step.name]] += 1
    locations = {location for location, _ in count}
    return lane, {
        location: max(n for (owner, _), n in count.items() if owner == location)
        for location in locations
    }


def _levels(graph: WorkFlow) -> dict[str, int]:
    """Return how many operations each one waits for, one after another."""
    from graphlib import TopologicalSorter

    before: dict[str, set[str]] = {step.name: set() for step in graph.steps}
    for dependency in graph.dependencies:
        before[dependency.after].add(dependency.before)
    level: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        level[name] = max((level[predecessor] + 1 for predecessor in before[name]), default=0)
    return level


def _box(x: float, y: float, text: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="23" fill="#fff" '
        f'stroke="#000"/><text x="{x + _WIDTH / 2}" y="{y + 28}">{escape(text)}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], remote: bool) -> str:
    x, y = start[0] + _WIDTH / 2, start[1] + _HEIGHT
    dashes = ' stroke-dasharray="5 4"' if remote else ""
    return (
        f'<path d="M{x} {y}L{end[0] + _WIDTH / 2} {end[1]}" stroke="#000"{dashes} '
        'marker-end="url(#tip)"/>'
    )
