"""Nodes as hwloc describes them (``lstopo --of xml``): how many cores are how near."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast.files import read_xml

#: What hwloc calls the parts of a node, and what a level of them is called here.
_WORDS = {"L3Cache": "cache", "NUMANode": "numa", "Package": "socket", "Machine": "node"}


def level_sizes(path: Path) -> tuple[tuple[str, int], ...]:
    """Return the levels of a node and how many cores each has, the nearest first.

    Levels of a single core are left out, and of those of one size all but the widest.

    Raises
    ------
    FileError
        If the file is none of hwloc, has no cores, or has parts of unequal numbers of cores.
    """
    root = read_xml(path)
    machine = root.find("object")
    if root.tag != "topology" or machine is None:
        raise FileError(f"{path}: <{root.tag}> is no <topology> of hwloc")
    sizes: dict[str, set[int]] = {}
    for kind, cores in _parts(machine):
        sizes.setdefault(kind, set()).add(cores)
    if not max(sizes.get("Machine", {0})):
        raise FileError(f"{path}: the topology has no cores; write all of it with lstopo --of xml")
    by_size: dict[int, str] = {}
    for kind, word in _WORDS.items():
        counts = sizes.get(kind, set())
        if len(counts) > 1:
            numbers = " and ".join(map(str, sorted(counts)))
            raise FileError(
                f"{path}: parts of type {kind} have {numbers} cores; levels have equal ones"
            )
        by_size.update(dict.fromkeys(counts, word))
    return tuple((word, size) for size, word in sorted(by_size.items()) if size > 1)


def _parts(element: Any) -> Iterator[tuple[str, int]]:
    """Yield the type of each part of a node, and its cores; memory has those of what it is in."""
    kind, inner = element.get("type", ""), element.findall("object")
    cores = sum(1 for part in element.iter("object") if part.get("type") == "Core")
    if kind in _WORDS and (kind != "NUMANode" or cores):
        yield kind, cores
    memories = [
        part
        for part in inner
        if part.get("type") == "NUMANode" and len(part.findall("object")) == 0
    ]
    yield from (("NUMANode", cores // len(memories)) for _ in memories)
    for part in inner:
        if part not in memories:
            yield from _parts(part)
