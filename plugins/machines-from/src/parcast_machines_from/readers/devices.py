"""What accelerators and ports a node has: ``nvidia-smi topo -m``, ``nvlink -s``, ``ibstat``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from parcast_machines_from.records import Fact, Lines, Reading, number, sections

_TOPOLOGY = re.compile(r"^\s*GPU0\s+(?:GPU\d|CPU|NIC\d|mlx|NUMA)")
_UNDERLINED = re.compile(r"\x1b\[\d*m")  # as nvidia-smi has the head of its matrix
_GPU = re.compile(r"^\s*GPU(\d+)\s+(.*)$")
_CELL = re.compile(r"^(?:X|SYS|NODE|PHB|PXB|PIX|NV\d+)$")

_LINKS = re.compile(r"^\s*GPU (\d+): .*\(UUID:")
_LINK = re.compile(r"^\s*Link (\d+): ([\d.]+) GB/s\s*$")

_ADAPTER = re.compile(r"^\s*CA '([^']+)'\s*$")
_STATE = re.compile(r"^\s*State:\s*(\w+)")
_RATE = re.compile(r"^\s*Rate:\s*([\d.]+)")
_PORT = re.compile(r"^\s*Port \d+:\s*$")


def read(lines: Lines) -> Reading:
    """Return accelerators, their links, and ports; nothing where a file states none.

    Raises
    ------
    FileError
        Naming the line, if a row of the matrix has too few cells.
    """
    return Reading(facts=(*_topology(lines), *_links(lines), *_ports(lines)))


def _topology(lines: Lines) -> Iterator[Fact]:
    """Yield how many accelerators a node has."""
    heads = ((at, _UNDERLINED.sub("", text)) for at, text in enumerate(lines.lines, 1))
    start, head = next(((at, text) for at, text in heads if _TOPOLOGY.match(text)), (0, ""))
    if not start:
        return
    count = len(set(re.findall(r"\bGPU\d+\b", head)))
    rows = 0
    for line, text in enumerate(lines.lines[start:], start + 1):
        if not (match := _GPU.match(text)):
            break
        cells = match[2].split()[:count]
        if int(match[1]) != rows or len(cells) < count or not all(map(_CELL.match, cells)):
            raise lines.wrong(line, f"GPU{rows} has no {count} cells of the matrix of nvidia-smi")
        rows += 1
    if rows != count:
        raise lines.wrong(start + rows, f"{rows} of {count} rows of nvidia-smi's matrix stand here")
    yield Fact("accelerator.per_node", count, lines.path, start, note=" as nvidia-smi has it")


def _links(lines: Lines) -> Iterator[Fact]:
    """Yield what the links of one accelerator carry together, each direction."""
    for start, stop, _ in sections(lines, _LINKS):
        rates = [
            number(lines, line, match[2], "a link's rate") * 1e9
            for line in range(start + 1, stop)
            if not lines.is_cut(line) and (match := _LINK.match(lines.lines[line - 1]))
        ]
        if rates:
            note = f", {len(rates)} links as nvidia-smi has them"
            yield Fact(
                "accelerator.links.bandwidth", sum(rates), lines.path, start, "published", note
            )


def _ports(lines: Lines) -> Iterator[Fact]:
    """Yield what the active ports of a node carry together."""
    if not any(_ADAPTER.match(text) for text in lines.lines):
        return
    rates: list[float] = []
    first = 0
    active = False
    for line, text in enumerate(lines.lines, 1):
        if _ADAPTER.match(text) or _PORT.match(text):
            active = False
        elif match := _STATE.match(text):
            active = match[1] == "Active"
        elif active and not lines.is_cut(line) and (match := _RATE.match(text)):
            rates.append(number(lines, line, match[1], "the rate") * 1e9 / 8)
            first = first or line
    if rates:
        note = f", {len(rates)} active port{'' if len(rates) == 1 else 's'} as ibstat has it"
        yield Fact("ports.bandwidth", sum(rates), lines.path, first, "published", note)
