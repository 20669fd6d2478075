"""Time-independent traces of SimGrid's own examples, predicted, beside the times that it states.

Needs a clone of simgrid/simgrid, bare or not: ``python replays.py CLONE -o replays.md``. The
platform is SimGrid's ``small_platform.xml``; the machine says of SMPI its factors of latency and
bandwidth by size, the 5 % that each message takes up for its answers on links of one direction for
both, a header of 16 bytes, that senders of 64 KiB and more wait, and the algorithms of its
default selector.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from parcast import Registry

#: SMPI's own factors of latency and of bandwidth, for messages of more than so many bytes.
FACTORS = (
    (0, 2.01467, 0.812084), (257, 1.95341, 0.338112), (732, 1.9503, 0.341987),
    (1426, 1.61075, 0.608902), (3484, 1.88101, 0.77493), (5776, 2.18796, 1.08739),
    (9376, 2.59299, 0.58729), (15424, 3.48845, 0.697866), (65472, 11.6436, 0.940694),
)  # fmt: skip
HEADER = 16
#: What a message takes up on the links back, which are the same links here.
CROSS_TRAFFIC = 1.05
#: Hosts in the order of the platform's file: MFLOP/s.
SPEEDS = (98.095, 76.296, 76.296, 48.492, 48.492, 137.333, 98.095)
COLLECTIVES = (
    "barrier linear-nb, reduce linear-nb, gather linear-nb, scatterv linear-nb, "
    "allreduce reduce-bcast, reduce_scatter reduce-scatterv, alltoall linear, alltoallv linear, "
    "allgatherv linear"
)
FOLDER = "examples/smpi/replay"
PLATFORM = "examples/platforms/small_platform.xml"
#: Why some differ.
CAUSES = {
    "actions_with_isend.txt": "SMPI charges 0.1 ms for each `MPI_Test`; with `smpi/test:0` alike",
    "actions_alltoallv.txt": "a trace has one number for a call: the mean of its messages",
    "actions_allgatherv.txt": "SimGrid gives the message of longer latency less of a full link",
}
PAGE = """# SimGrid's examples of replay

Written by `replays.py` from simgrid/simgrid at commit {commit}. "SimGrid" is the time that its
tests state, of SMPI by its own settings; "difference" is that of `emulator.tc`, and 0 where all six
digits after the point are equal.

| trace | processes | SimGrid | parcast | difference | why |
|---|---|---|---|---|---|
{rows}
"""


def machine(platform: Path) -> dict[str, Any]:
    """Return SimGrid's platform with what SMPI does to messages."""
    sizes = [
        {
            "least": max(more_than - HEADER, 0),
            "latency_factor": latency,
            "efficiency": bandwidth / CROSS_TRAFFIC,
        }
        for more_than, latency, bandwidth in FACTORS
    ]
    groups = [{"count": 1, "weight": speed / SPEEDS[0]} for speed in SPEEDS]
    return {
        "name": "small_platform",
        "processor": {"rate": SPEEDS[0] * 1e6},
        "nodes": {"cores": 1, "groups": groups},
        "network": {
            "startup": 0.0,
            "bandwidth": "1 TB/s",
            "contention": "fair",
            "eager_limit": 65535,
            "eager": "waits",
            "header": HEADER,
            "sizes": sizes,
            "collectives": COLLECTIVES,
        },
        "topology": {"kind": "graph", "file": str(platform)},
    }


def cases(text: str) -> list[tuple[tuple[str, ...], int, float]]:
    """Return of each replay in a file of tests its traces, processes and time."""
    replays = []
    names: list[str] = []
    count = 0
    for line in text.splitlines():
        if named := re.fullmatch(r"< replay/(actions\S*\.txt)", line):
            names.append(named[1])
        elif line.startswith("$") and (processes := re.search(r"-replay .* -np (\d+)", line)):
            count = int(processes[1])
        elif stated := re.search(r"Simulation time ([\d.]+)", line):
            replays.append((tuple(names), count, float(stated[1])))
            names = []
    return list(dict.fromkeys(replays))


def predicted(registry: Registry, folder: Path, names: tuple[str, ...], count: int) -> float | str:
    """Return the time, or why there is none."""
    trace = folder / names[0]
    if len(names) > 1:  # a file for each process
        trace = folder / "apart"
        trace.mkdir()
        for name in names:
            (trace / name).write_bytes((folder / name).read_bytes())
    (row,) = registry.compare(
        str(trace), machine(folder / "small_platform.xml"), p=count, solvers="emulator.tc",
        elasticities=False,
    ).rows  # fmt: skip
    return row.message if row.time is None else float(row.time)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()

    def shown(*words: str) -> str:
        git = ["git", "-C", str(asked.clone), *words]
        return subprocess.run(git, check=True, capture_output=True, text=True).stdout  # noqa: S603

    registry, rows = Registry(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small_platform.xml").write_text(shown("show", f"HEAD:{PLATFORM}"))
        for file in shown("ls-tree", "--name-only", "HEAD", f"{FOLDER}/").split():
            if file.endswith(".txt"):
                (folder / Path(file).name).write_text(shown("show", f"HEAD:{file}"))
        for names, count, stated in cases(shown("show", f"HEAD:{FOLDER}/replay.tesh")):
            answer = predicted(registry, folder, names, count)
            difference = answer
            if not isinstance(answer, str):
                alike = round(answer, 6) == stated
                difference = "0" if alike else f"{100 * (answer / stated - 1):+.3f} %"
                answer = f"{answer:.6f}"
            cause = CAUSES.get(names[0], "")
            cells = (", ".join(names), count, f"{stated:.6f}", answer, difference, cause)
            rows.append("| " + " | ".join(map(str, cells)) + " |")
    commit = shown("rev-parse", "HEAD").strip()[:12]
    asked.output.write_text(PAGE.format(commit=commit, rows="\n".join(rows)))


if __name__ == "__main__":
    main()
