"""Time-independent traces of SimGrid's own examples, predicted, beside the times that it states.

Needs a clone of simgrid/simgrid, bare or not: ``python replays.py CLONE -o replays.md``. The
platform is SimGrid's own file; the machine says of SMPI its factors of latency and
bandwidth by size, the 5 % that each message takes up for its answers on links of one direction for
both, a header of 16 bytes, that senders of 64 KiB and more wait, and the algorithms of its
default selector. Jobs that a program of its own replays run on SimGrid's default network, of one
factor each.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from parcast import Registry

#: SMPI's own factors of latency and of bandwidth, for messages of more than so many bytes.
FACTORS = (
    (0, 2.01467, 0.812084), (257, 1.95341, 0.338112), (732, 1.9503, 0.341987),
    (1426, 1.61075, 0.608902), (3484, 1.88101, 0.77493), (5776, 2.18796, 1.08739),
    (9376, 2.59299, 0.58729), (15424, 3.48845, 0.697866), (65472, 11.6436, 0.940694),
)  # fmt: skip
#: The factors of SimGrid's default network.
DEFAULT = ((0, 13.01, 0.97),)
HEADER = 16
#: What a message takes up on the links back, which are the same links here.
CROSS_TRAFFIC = 1.05
COLLECTIVES = (
    "barrier linear-nb, reduce linear-nb, gather linear-nb, scatterv linear-nb, "
    "allreduce reduce-bcast, reduce_scatter reduce-scatterv, alltoall linear, alltoallv linear, "
    "allgatherv linear"
)
FOLDER = "examples/smpi/replay"
PLATFORM = "examples/platforms/small_platform.xml"
JOBS = "examples/smpi/replay_multiple_manual_deploy"
WITH_ROUTERS = "examples/platforms/small_platform_with_routers.xml"
HOST = re.compile(r'^\s*<host id="(\w+)" speed="([\d.]+)Mf".*?/>\n', re.MULTILINE)
#: Why some differ.
CAUSES = {
    "actions_with_isend.txt": "SMPI charges 0.1 ms for each `MPI_Test`; with `smpi/test:0` alike",
    "actions_alltoallv.txt": "a trace has one number for a call: the mean of its messages",
    "actions_allgatherv.txt": "SimGrid gives the message of longer latency less of a full link",
}
#: What differs, without its cause: the trace, what is changed, by regular expressions, in the trace
#: or in the platform, and the time that SMPI 3.32 takes then.
WITHOUT = (
    ("actions_with_isend.txt", "`--cfg=smpi/test:0`", None, None, 39.320541),
    ("actions_alltoallv.txt", "messages of a rank of one size", (
        (r"(\d) alltoallv .*", lambda match: f"{match[1]} alltoallv 1000 "
            + " ".join([("24", "54", "44")[int(match[1])]] * 3) + " 1000 24 54 44"),
    ), None, 0.006949),
    ("actions_allgatherv.txt", "links without latency", None, (
        (r'latency="[^"]*"', 'latency="0"'),
    ), 1.958342),
)  # fmt: skip
PAGE = """# SimGrid's examples of replay

Written by `replays.py` from simgrid/simgrid at commit {commit}. "SimGrid" is the time that its
tests state, of SMPI by its own settings; "difference" is that of `emulator.tc`, and 0 where all six
digits after the point are equal.

| trace | processes | SimGrid | parcast | difference | why |
|---|---|---|---|---|---|
{rows}

Those that differ, without what makes them differ; here "SimGrid" is what SMPI 3.32 takes then
(measured).

| trace | without | SimGrid | parcast | difference |
|---|---|---|---|---|
{without}
"""


def machine(platform: Path, factors: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    """Return SimGrid's platform with what SMPI does to messages."""
    sizes = [
        {
            "least": max(more_than - HEADER, 0),
            "latency_factor": latency,
            "efficiency": bandwidth / CROSS_TRAFFIC,
        }
        for more_than, latency, bandwidth in factors
    ]
    speeds = [float(speed) for _, speed in HOST.findall(platform.read_text())]
    groups = [{"count": 1, "weight": speed / speeds[0]} for speed in speeds]
    return {
        "name": "small_platform",
        "processor": {"rate": speeds[0] * 1e6},
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


def jobs(shown: Callable[..., str]) -> Iterator[tuple[str, int, float, dict[str, str]]]:
    """Yield jobs that run alone: name, processes, time, and the files of traces and platform."""
    for name in ("coll", "mixed"):
        text = shown("show", f"HEAD:{JOBS}/replay_multiple_manual_{name}1.tesh")
        stated = re.search(r"Simulation time ([\d.]+)", text)
        hosts = dict(re.findall(r"rank_0_(\d)@(\w+)\) Replaying", text))
        assert stated is not None
        files = {
            f"{name}{rank}.txt": shown("show", f"HEAD:{JOBS}/{name}/actions{rank}.txt")
            for rank in hosts
        }
        platform = shown("show", f"HEAD:{WITH_ROUTERS}")
        lines = {match[1]: match[0] for match in HOST.finditer(platform)}
        first = [hosts[rank] for rank in sorted(hosts)]  # the hosts of its ranks come first
        ordered = "".join(lines[host] for host in dict.fromkeys([*first, *lines]))
        others = HOST.sub("", platform)
        files["small_platform.xml"] = others.replace("<link ", f"{ordered}<link ", 1)
        yield name, len(hosts), float(stated[1]), files


def predicted(
    folder: Path, names: Sequence[str], count: int,
    factors: Sequence[tuple[float, float, float]] = FACTORS,
) -> float | str:  # fmt: skip
    """Return the time, or why there is none."""
    trace = folder / names[0]
    if len(names) > 1:  # a file for each process
        trace = folder / f"apart-{names[0]}"
        trace.mkdir()
        for name in names:
            (trace / name).write_bytes((folder / name).read_bytes())
    (row,) = Registry().compare(
        str(trace), machine(folder / "small_platform.xml", factors), p=count,
        solvers="emulator.tc", elasticities=False,
    ).rows  # fmt: skip
    return row.message if row.time is None else float(row.time)


def compared(stated: float, answer: float | str) -> tuple[str, str, str]:
    """Return the cells of two times and their difference."""
    if isinstance(answer, str):
        return f"{stated:.6f}", answer, ""
    alike = round(answer, 6) == stated
    difference = "0" if alike else f"{100 * (answer / stated - 1):+.3f} %"
    return f"{stated:.6f}", f"{answer:.6f}", difference


def line(*cells: object) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args()

    def shown(*words: str) -> str:
        git = ["git", "-C", str(asked.clone), *words]
        return subprocess.run(git, check=True, capture_output=True, text=True).stdout  # noqa: S603

    rows, without = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small_platform.xml").write_text(shown("show", f"HEAD:{PLATFORM}"))
        for file in shown("ls-tree", "--name-only", "HEAD", f"{FOLDER}/").split():
            if file.endswith(".txt"):
                (folder / Path(file).name).write_text(shown("show", f"HEAD:{file}"))
        counts = {}
        for names, count, stated in cases(shown("show", f"HEAD:{FOLDER}/replay.tesh")):
            counts[names[0]] = count
            cells = compared(stated, predicted(folder, names, count))
            rows.append(line(", ".join(names), count, *cells, CAUSES.get(names[0], "")))
        for job, count, stated, files in jobs(shown):
            own = folder / job
            own.mkdir()
            for file, text in files.items():
                (own / file).write_text(text)
            traces = [file for file in files if file.endswith(".txt")]
            cells = compared(stated, predicted(own, traces, count, DEFAULT))
            rows.append(line(f"{job} (two processes of a job)", count, *cells, ""))
        for trace, what, *changes, stated in WITHOUT:
            own = folder / f"without-{trace}"
            own.mkdir()
            for file, change in zip((trace, "small_platform.xml"), changes, strict=True):
                text = (folder / file).read_text()
                for pattern, instead in change or ():
                    text = re.sub(pattern, instead, text)
                (own / file).write_text(text)
            cells = compared(stated, predicted(own, (trace,), counts[trace]))
            without.append(line(trace, what, *cells))
    commit = shown("rev-parse", "HEAD").strip()[:12]
    asked.output.write_text(
        PAGE.format(commit=commit, rows="\n".join(rows), without="\n".join(without))
    )


if __name__ == "__main__":
    main()
