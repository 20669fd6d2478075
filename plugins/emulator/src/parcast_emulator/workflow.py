"""Work-flow graphs: the operations on one block and what each waits for (the paper's figure 2)."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

import attrs

from parcast.files import digraph, quoted

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


def dot(graph: WorkFlow) -> str:
    """Return the graph in DOT: a frame around each location, remote dependencies dashed."""
    lines = ['rankdir=LR; node [shape=box, style="rounded,filled", width=1.6, fontsize=12];']
    steps = defaultdict[str, list[str]](list)
    for step in graph.steps:
        steps[step.location].append(quoted(step.name))
    for number, (location, names) in enumerate(steps.items()):
        frame = f'label={quoted(location)}; color="#cccccc"; style=rounded;'
        lines.append(f"subgraph cluster{number} {{ {frame} {'; '.join(names)} }}")
    for dependency in graph.dependencies:
        style = " [style=dashed, minlen=2]" if dependency.remote else ""
        lines.append(f"{quoted(dependency.before)} -> {quoted(dependency.after)}{style};")
    return digraph(graph.name, lines)
