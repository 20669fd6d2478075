"""How many processes and nodes a run had, from the command that a job's output prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from parcast_machines_from.records import Lines

_LAUNCHER = re.compile(r"\b(mpirun|mpiexec(?:\.hydra)?|srun|prun|aprun|jsrun|flux run)\s")
_PROCESSES = {
    "srun": r"(?:-n|--ntasks)[= ]?(\d+)\b",
    "aprun": r"-n[= ]?(\d+)\b",
    "flux run": r"(?:-n|--ntasks)[= ]?(\d+)\b",
    "": r"(?:--?np|--?n)[= ](\d+)\b",
}
_NODES = {
    "srun": r"(?:-N|--nodes)[= ]?(\d+)\b",
    "flux run": r"(?:-N|--nodes)[= ]?(\d+)\b",
    "": r"--?nnodes[= ](\d+)\b",
}
_PER_NODE = {
    "srun": r"--ntasks-per-node[= ](\d+)\b",
    "flux run": r"--tasks-per-node[= ](\d+)\b",
    "aprun": r"-N[= ]?(\d+)\b",
    "mpirun": r"(?:--?ppn|--?npernode|-perhost|--map-by ppr:|-N)[= ]?(\d+)\b",
    "": r"(?:--?ppn|--?npernode|-perhost|--map-by ppr:)[= ]?(\d+)\b",
}


@attrs.frozen
class Launch:
    """The processes and nodes of a run, as far as its command says."""

    line: int
    processes: int | None = None
    nodes: int | None = None


def launches(lines: Lines) -> Iterator[Launch]:
    """Yield the launches of an output, in its order."""
    for line, text in enumerate(lines.lines, 1):
        if match := _LAUNCHER.search(text):
            yield _launch(line, match[1], text[match.start() :])


def before(lines: Lines, line: int) -> Launch:
    """Return the last launch above a line; one that says nothing where there is none."""
    above = [launch for launch in launches(lines) if launch.line < line]
    return above[-1] if above else Launch(0)


def _launch(line: int, launcher: str, command: str) -> Launch:
    processes = _option(_PROCESSES, launcher, command)
    nodes = _option(_NODES, launcher, command)
    per_node = _option(_PER_NODE, launcher, command)
    if processes is None and nodes and per_node:
        processes = nodes * per_node
    if nodes is None and processes and per_node:
        nodes = -(-processes // per_node)
    return Launch(line, processes, nodes)


def _option(options: dict[str, str], launcher: str, command: str) -> int | None:
    match = re.search(rf"\s{options.get(launcher, options[''])}", command)
    return int(match[1]) or None if match else None
