"""What a node has: ``scontrol show node``, ``numactl -H``, ``lscpu``, hwloc, Slurm's switches."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parcast_machines_from.records import Fact, Lines, Reading, sections

_NODE = re.compile(r"^\s*NodeName=(\S+)")
_CORES = re.compile(r"\bCoresPerSocket=(\d+)")
_SOCKETS = re.compile(r"\bSockets=(\d+)")
_AVAILABLE = re.compile(r"^available: (\d+) nodes? \(")
_NUMA_CPUS = re.compile(r"^node (\d+) cpus:((?: \d+)*)\s*$")
_LSCPU = {
    "sockets": re.compile(r"^\s*Socket\(s\):\s+(\d+)\s*$"),
    "cores": re.compile(r"^\s*Core\(s\) per socket:\s+(\d+)\s*$"),
}


def read(lines: Lines) -> Reading:
    """Return cores, levels and numbers of nodes; nothing where a file states none.

    Raises
    ------
    FileError
        If hwloc's XML or Slurm's tree of switches is wrong.
    """
    head = "\n".join(lines.lines[:5])
    if "<topology" in head and "<?xml" in head:
        return Reading(facts=tuple(_hwloc(lines)))
    facts = [*_slurm(lines), *_numactl(lines), *_lscpu(lines)]
    if any(re.match(r"\s*SwitchName=", text) for text in lines.lines):
        facts += _switches(lines)
    return Reading(facts=tuple(facts))


def _hwloc(lines: Lines) -> Iterator[Fact]:
    from parcast_network.readers.hwloc import level_sizes

    for name, size in level_sizes(Path(lines.path)):
        yield Fact(f"levels.{name}", size, lines.path, 1, note=" as hwloc has it")
        if name == "node":
            yield Fact("nodes.cores", size, lines.path, 1, note=" as hwloc has it")


def _switches(lines: Lines) -> Iterator[Fact]:
    from parcast_network.readers.slurm import cables

    nodes = {end for cable in cables(Path(lines.path)) for end in cable.ends if _is_node(end)}
    line = next(at for at, text in enumerate(lines.lines, 1) if "SwitchName=" in text)
    yield Fact("nodes.count", len(nodes), lines.path, line, "published", " as Slurm's switches")


def _is_node(end: str) -> bool:
    return re.fullmatch(r"node\d+", end) is not None


def _slurm(lines: Lines) -> Iterator[Fact]:
    """Yield the cores that most nodes have, and how many nodes have them."""
    counts: Counter[int] = Counter()
    first: dict[int, int] = {}
    sockets: dict[int, int] = {}
    for start, stop, _ in sections(lines, _NODE):
        text = " ".join(lines.lines[start - 1 : stop - 1])
        per, number = _CORES.search(text), _SOCKETS.search(text)
        if per and number:
            cores = int(per[1]) * int(number[1])
            counts[cores] += 1
            first.setdefault(cores, start)
            sockets[cores] = int(per[1])
    if counts:
        cores, nodes = counts.most_common(1)[0]
        note = f", {nodes} of {counts.total()} nodes"
        yield Fact("nodes.cores", cores, lines.path, first[cores], "published", note)
        if counts.total() > 1:
            yield Fact("nodes.count", nodes, lines.path, first[cores], "published", note)
        if sockets[cores] < cores:
            yield Fact("levels.socket", sockets[cores], lines.path, first[cores], "published")


def _numactl(lines: Lines) -> Iterator[Fact]:
    """Yield CPUs of a memory; hardware threads are not told apart, so no cores are stated."""
    if not any(_AVAILABLE.match(text) for text in lines.lines):
        return
    sizes: dict[int, int] = {}
    for at, text in enumerate(lines.lines, 1):
        if (match := _NUMA_CPUS.match(text)) and match[2].split():
            sizes.setdefault(len(match[2].split()), at)
    if len(sizes) == 1:
        size, at = sizes.popitem()
        yield Fact("threads.numa", size, lines.path, at)


def _lscpu(lines: Lines) -> Iterator[Fact]:
    values = {}
    for at, text in enumerate(lines.lines, 1):
        for name, pattern in _LSCPU.items():
            if match := pattern.match(text):
                values[name] = int(match[1]), at
    if len(values) == len(_LSCPU):
        (sockets, at), (cores, _) = values["sockets"], values["cores"]
        yield Fact("nodes.cores", sockets * cores, lines.path, at, note=" as lscpu has it")
        if sockets > 1:
            yield Fact("levels.socket", cores, lines.path, at, note=" as lscpu has it")
