"""C programs under SimGrid's SMPI and their twins in parcast: times and differences.

Needs smpicc and smpirun (Debian's libsimgrid-dev). ``python table.py -p 2,16,64`` prints a row
for each program, platform and number of processes. SMPI shares links max-min fairly and has no
factors of its own; messages below 64 KiB do not hold up their senders, and all wait for their
receives. Every message carries 16 bytes more.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

from parcast import Registry

HERE = Path(__file__).parent
PROGRAMS = ("halo", "ring", "transpose", "farm", "pipeline", "checkpoint", "wavefront")
PLATFORMS = ("star", "bus", "halves", "unequal")
SETTINGS = [
    f"--cfg={setting}"
    for setting in (
        "network/model:CM02", "network/optim:Full", "network/TCP-gamma:0", "network/weight-S:0",
        "network/crosstraffic:0", "network/latency-factor:1", "network/bandwidth-factor:1",
        "surf/precision:1e-12", "smpi/simulate-computation:no", "smpi/wtime:0",
        "smpi/allreduce:rdb", "smpi/alltoall:ring", "smpi/gather:ompi_basic_linear",
        "smpi/barrier:ompi_bruck",
    )
]  # fmt: skip
CLUSTER = '<cluster id="{id}" prefix="node" radical="{first}-{last}" suffix="" speed="{speed}Gf" '
CLUSTER += 'bw="1.25GBps" lat="5us" router_id="router{id}"{more}/>'


def platform(name: str, p: int) -> str:
    """Return a platform of SimGrid with ``p`` hosts."""
    half, bus = p // 2, ' bb_bw="1.25GBps" bb_lat="0us" bb_sharing_policy="SHARED"'

    def cluster(number: int, first: int, last: int, speed: int = 1, more: str = "") -> str:
        return CLUSTER.format(id=f"c{number}", first=first, last=last, speed=speed, more=more)

    if name in ("star", "bus"):
        zones = cluster(0, 0, p - 1, more=bus if name == "bus" else "")
    else:
        backbone = "2.5GBps" if name == "halves" else "1000GBps"
        zones = cluster(0, 0, half - 1) + cluster(
            1, half, p - 1, speed=2 if name == "unequal" else 1
        )
        zones += f'<link id="backbone" bandwidth="{backbone}" latency="0us"'
        zones += f' sharing_policy="{"SHARED" if name == "halves" else "FATPIPE"}"/>'
        zones += '<zoneRoute src="c0" dst="c1" gw_src="routerc0" gw_dst="routerc1">'
        zones += '<link_ctn id="backbone"/></zoneRoute>'
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f'<platform version="4.1"><zone id="all" routing="Full">{zones}</zone></platform>\n'
    )


def machine(name: str, p: int) -> dict[str, Any]:
    """Return the same platform as a machine of parcast."""
    half = p // 2
    described: dict[str, Any] = {
        "name": name,
        "processor": {"rate": 1e9},
        "nodes": {"cores": 1},
        "network": {
            "startup": 10e-6, "bandwidth": 1.25e9, "contention": "fair",
            "eager_limit": 65535, "eager": "waits", "header": 16,
        },
    }  # fmt: skip
    if name == "bus":
        described["topology"] = {"kind": "bus", "bandwidth": 1.25e9}
    if name == "halves":
        links = [{"ends": [f"node{i}", f"s{int(i >= half)}"]} for i in range(p)]
        links.append({"ends": ["s0", "s1"], "bandwidth": 2.5e9, "duplex": "half"})
        described["topology"] = {"kind": "graph", "links": links}
    if name == "unequal":
        groups = [{"count": half, "weight": 1.0}, {"count": p - half, "weight": 2.0}]
        described["nodes"]["groups"] = groups
    return described


def simulated(folder: Path, program: str, name: str, p: int) -> tuple[float, float]:
    """Return the time by SMPI, and the seconds it took."""
    (folder / "platform.xml").write_text(platform(name, p))
    (folder / "hosts").write_text("\n".join(f"node{rank}" for rank in range(p)))
    command = ["smpirun", "-np", str(p), "-platform", "platform.xml", "-hostfile", "hosts"]
    begin = time.perf_counter()
    done = subprocess.run(  # noqa: S603  # a program compiled here
        [*command, *SETTINGS, "--log=root.t:error", f"./{program}"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return max(map(float, done.stdout.split())), time.perf_counter() - begin


def compared(
    registry: Registry, folder: Path, program: str, name: str, p: int, solvers: str
) -> dict[str, float]:
    """Print a row of the table, and return how far each solver is from SMPI."""
    smpi, _ = simulated(folder, program, name, p)
    workload, described = HERE / "programs" / f"{program}.py", registry.machine(machine(name, p))
    words, apart = [], {}
    for row in registry.compare(workload, described, p=p, solvers=solvers).rows:
        if row.time is None:
            words.append(f"{row.solver}: {row.message}")
            continue
        apart[row.solver] = row.time / smpi - 1
        words.append(f"{row.solver}: {row.time:.9g}, {apart[row.solver]:+.1e}")
    print(f"{program:<10} {name:<8} {p:>4} {smpi:>12.9g}  {'; '.join(words)}", flush=True)
    return apart


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-p", default="2,4,16,64")
    parser.add_argument("-s", default="emulator.tc", help="solvers of parcast")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--platforms", default=",".join(PLATFORMS))
    asked = parser.parse_args()
    registry, apart = Registry(), defaultdict[str, list[float]](list)
    print(f"{'program':<10} {'platform':<8} {'p':>4} {'SMPI, s':>12}  solver: time, difference")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for program in asked.programs.split(","):
            command = ["smpicc", "-O1", "-o", folder / program, HERE / f"{program}.c", "-lm"]
            subprocess.run(command, check=True)  # noqa: S603
            for name, p in product(asked.platforms.split(","), map(int, asked.p.split(","))):
                away = compared(registry, folder, program, name, p, asked.s)
                for solver, value in away.items():
                    apart[solver].append(abs(value))
    for solver, values in apart.items():
        small = sum(value < 1e-9 for value in values)
        print(
            f"{solver}: {len(values)} points, {small} within 1e-9, median "
            f"{statistics.median(values):.1e}, largest {max(values):.1e}"
        )


if __name__ == "__main__":
    main()
