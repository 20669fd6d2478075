"""Slurm's ``topology.conf`` for the plugin ``topology/tree``: switches and what is below each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from parcast.errors import FileError
from parcast.files import read_text
from parcast_network.description import Cable

_WORD = re.compile(r"(\w+)=(\S+)")
_PART = re.compile(r"[^,\[\]]+(?:\[[^\]]*\][^,\[\]]*)*")
_RANGE = re.compile(r"([^\[]*)\[([^\]]*)\](.*)")

#: No cluster has as many nodes.
_MOST = 1 << 20


def cables(path: Path) -> tuple[Cable, ...]:
    """Return the cables of a tree of switches.

    The nodes are node0, node1, ... in the order of the file, whatever they are called in it.

    Raises
    ------
    FileError
        Naming file and line, if a switch is unknown, stands below itself or below two others, or
        if nodes are in blocks.
    """
    below: dict[str, tuple[int, list[str]]] = {}
    nodes: dict[str, tuple[int, str]] = {}
    for number, values in _lines(path):
        where = f"{path}:{number}"
        name = values.get("switchname", "")
        if name in below:
            raise FileError(f"{where}: switch {name} is stated twice")
        below[name] = number, list(_names(values.get("switches", ""), where))
        for node in _names(values.get("nodes", ""), where):
            if node in nodes:
                raise FileError(f"{where}: node {node} is below {nodes[node][1]} and {name}")
            nodes[node] = number, name
    if not nodes:
        raise FileError(f"{path}: no switch has nodes; write SwitchName=leaf0 Nodes=node[0-15]")
    _check_tree(path, below)
    joined = [(f"node{i}", switch) for i, (_, switch) in enumerate(nodes.values())]
    joined += [(child, name) for name, (_, children) in below.items() for child in children]
    safe = {name: f"switch {name}" if re.fullmatch(r"node\d+", name) else name for name in below}
    return tuple(Cable(ends=(safe.get(a, a), safe[b])) for a, b in joined)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the number and the values of each line with a switch."""
    text = read_text(path).replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), 1):
        values = {key.lower(): value for key, value in _WORD.findall(line.partition("#")[0])}
        if "blockname" in values or "blocksizes" in values:
            raise FileError(
                f"{path}:{number}: blocks (topology/block) say nothing of switches; state the "
                "switches with SwitchName"
            )
        if "switchname" in values:
            yield number, values
        elif line.partition("#")[0].strip():
            raise FileError(f"{path}:{number}: {line.strip()!r} states no SwitchName")


def _names(text: str, where: str) -> Iterator[str]:
    """Yield the names of ``node[1-4,7],login``."""
    for part in _PART.findall(text):
        yield from _expanded(part, where)


def _expanded(part: str, where: str) -> Iterator[str]:
    match = _RANGE.fullmatch(part)
    if match is None:
        yield part
        return
    head, ranges, tail = match.groups()
    for item in ranges.split(","):
        low, dash, high = item.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise FileError(f"{where}: {part!r}: {item!r} is no range such as 0-15")
        last = int(high) if dash else int(low)
        if last < int(low) or last - int(low) >= _MOST:
            raise FileError(f"{where}: {part!r}: {item!r} is empty or too long")
        for number in range(int(low), last + 1):
            yield from _expanded(f"{head}{number:0{len(low)}}{tail}", where)


def _check_tree(path: Path, below: Mapping[str, tuple[int, list[str]]]) -> None:
    """Refuse switches that are unknown, below two others, or below themselves."""
    above: dict[str, str] = {}
    for name, (number, children) in below.items():
        for child in children:
            if child not in below:
                raise FileError(f"{path}:{number}: no line states switch {child}")
            if child in above:
                raise FileError(
                    f"{path}:{number}: switch {child} is below {above[child]} and {name}"
                )
            above[child] = name
    for name in below:
        passed, at = {name}, name
        while at in above:
            at = above[at]
            if at in passed:
                raise FileError(f"{path}:{below[name][0]}: switch {name} is below itself, by {at}")
            passed.add(at)
