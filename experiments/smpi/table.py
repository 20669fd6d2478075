"""C programs under SimGrid's SMPI and their twins in parcast: times and differences.

Needs smpicc and smpirun (Debian's libsimgrid-dev). ``python table.py -p 2,16,64`` prints a row
for each program, platform and number of processes. Messages below 64 KiB do not hold up their
senders, and all wait for their receives; every message carries 16 bytes more.

``--model`` says what else SMPI does: ``fair`` shares links max-min fairly and has no factors;
``factors`` has SMPI's own factors of latency and bandwidth by size; ``default`` has besides the
cross traffic and the weights of its own settings; ``overheads`` has ``factors`` and besides what
sends and receives cost by size (``smpi/os``, ``smpi/ois``, ``smpi/or``), which are 0 by default.
Collectives are in all four those that the twins write out, which stand in the dataset ``smpi`` of
parcast-score.
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
TWINS = HERE.parents[1] / "plugins/score/src/parcast_score/datasets/smpi"
PROGRAMS = ("halo", "ring", "transpose", "farm", "pipeline", "checkpoint", "wavefront")
PLATFORMS = ("star", "bus", "halves", "unequal")
COLLECTIVES = (
    "smpi/allreduce:rdb", "smpi/alltoall:ring", "smpi/gather:ompi_basic_linear",
    "smpi/barrier:ompi_bruck",
)  # fmt: skip
EXACT = (
    "network/optim:Full", "surf/precision:1e-12", "smpi/simulate-computation:no", "smpi/wtime:0",
    *COLLECTIVES,
)  # fmt: skip
PLAIN = (
    "network/model:CM02", "network/TCP-gamma:0", "network/weight-S:0", "network/crosstraffic:0",
    "network/latency-factor:1", "network/bandwidth-factor:1",
)  # fmt: skip
#: Bytes from which on a message costs so many seconds to send, and to receive. SMPI charges
#: receives, and sends that block, only where the send does not wait.
PAID = ((0, 1e-6, 2e-6), (1420, 3e-6, 4e-6), (65536, 0.0, 0.0))
OVERHEADS = (
    *(f"smpi/{call}:" + ";".join(f"{size}:{own}:0" for size, own, _ in PAID)
      for call in ("os", "ois")),
    "smpi/or:" + ";".join(f"{size}:{own}:0" for size, _, own in PAID),
)  # fmt: skip
SETTINGS = {"fair": (*EXACT, *PLAIN), "default": EXACT}
SETTINGS["factors"] = (*EXACT, "network/crosstraffic:0", "network/weight-S:0")
SETTINGS["overheads"] = (*SETTINGS["factors"], *OVERHEADS)
#: SMPI's own factors of latency and of bandwidth, for messages of more than so many bytes.
FACTORS = (
    (0, 2.01467, 0.812084), (257, 1.95341, 0.338112), (732, 1.9503, 0.341987),
    (1426, 1.61075, 0.608902), (3484, 1.88101, 0.77493), (5776, 2.18796, 1.08739),
    (9376, 2.59299, 0.58729), (15424, 3.48845, 0.697866), (65472, 11.6436, 0.940694),
)  # fmt: skip
HEADER = 16
#: Of every message, as much takes up the links back (``network/crosstraffic``).
CROSS_TRAFFIC = 0.05
#: Full links are shared by latencies and so many bytes on each link (``network/weight-S``).
WEIGHT_BYTES = 8775.0
#: Bytes a second of a cable that is none: nodes have their ports.
ENDLESS = 1e30
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


def sizes(model: str) -> list[dict[str, float]]:
    """Return what messages of some bytes and more cost, without their header."""
    rows: dict[int, dict[str, float]] = {}
    for more_than, latency, bandwidth in FACTORS if model != "fair" else ():
        rows[max(more_than - HEADER, 0)] = {"startup": 10e-6 * latency, "efficiency": bandwidth}
    for least, sending, receiving in PAID if model == "overheads" else ():
        rows.setdefault(least, {}).update(overhead=sending, overhead_receive=receiving)
    return [{"least": least, **rows[least]} for least in sorted(rows)]


def topology(name: str, p: int) -> dict[str, Any]:
    """Return what connects the nodes."""
    if name == "bus":
        return {"topology": {"kind": "bus", "bandwidth": 1.25e9}}
    if name == "star":
        return {}
    links: list[dict[str, Any]] = [
        {"ends": [f"node{i}", f"s{int(i >= p // 2)}"], "bandwidth": ENDLESS} for i in range(p)
    ]
    backbone = {"halves": (2.5e9, True), "unequal": (1e12, False)}
    bandwidth, shared = backbone[name]
    links.append({"ends": ["s0", "s1"], "bandwidth": bandwidth, "duplex": "half", "shared": shared})
    return {"topology": {"kind": "graph", "links": links}}


def machine(name: str, p: int, model: str = "fair") -> dict[str, Any]:
    """Return the same platform as a machine of parcast."""
    half = p // 2
    described: dict[str, Any] = {
        "name": name,
        "processor": {"rate": 1e9},
        "nodes": {"cores": 1},
        "network": {
            "startup": 10e-6, "bandwidth": 1.25e9, "contention": "fair",
            "eager_limit": 65535, "eager": "waits", "header": HEADER,
            "overhead_by": "message", "sizes": sizes(model),
        },
    }  # fmt: skip
    described |= topology(name, p)
    if model == "default":
        described["network"] |= {
            "acknowledgements": CROSS_TRAFFIC, "weight_bytes": WEIGHT_BYTES
        }  # fmt: skip
    if name == "unequal":
        groups = [{"count": half, "weight": 1.0}, {"count": p - half, "weight": 2.0}]
        described["nodes"]["groups"] = groups
    return described


def simulated(folder: Path, program: str, name: str, p: int, model: str) -> tuple[float, float]:
    """Return the time by SMPI, and the seconds it took."""
    (folder / "platform.xml").write_text(platform(name, p))
    (folder / "hosts").write_text("\n".join(f"node{rank}" for rank in range(p)))
    command = ["smpirun", "-np", str(p), "-platform", "platform.xml", "-hostfile", "hosts"]
    begin = time.perf_counter()
    done = subprocess.run(  # noqa: S603  # a program compiled here
        [*command, *(f"--cfg={setting}" for setting in SETTINGS[model]), "--log=root.t:error",
         f"./{program}"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return max(map(float, done.stdout.split())), time.perf_counter() - begin


def compared(
    registry: Registry, folder: Path, program: str, name: str, p: int, asked: argparse.Namespace
) -> dict[str, float]:
    """Print a row of the table, and return how far each solver is from SMPI."""
    smpi, _ = simulated(folder, program, name, p, asked.model)
    workload = TWINS / f"{program}.py"
    described = registry.machine(machine(name, p, asked.model))
    words, apart = [], {}
    for row in registry.compare(workload, described, p=p, solvers=asked.s).rows:
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
    parser.add_argument("--model", default="fair", choices=list(SETTINGS))
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
                away = compared(registry, folder, program, name, p, asked)
                for solver, value in away.items():
                    apart[solver].append(abs(value))
    for solver, values in apart.items():
        small = sum(value < 1e-9 for value in values)
        near = sum(value < 0.05 for value in values)
        print(
            f"{solver}: {len(values)} points, {small} within 1e-9, median "
            f"{statistics.median(values):.1e}, {near} within 5 %, largest {max(values):.1e}"
        )


if __name__ == "__main__":
    main()
