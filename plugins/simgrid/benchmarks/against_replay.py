"""A halo exchange with sums over a tapered fat-tree: emulator.tc, and SMPI's replay of the same.

Needs parcast-emulator, parcast-network, and SimGrid's ``smpirun`` and ``smpicxx``.

python benchmarks/against_replay.py [processes] [switches above]
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from parcast import Query, Registry
from parcast.program import Operation, read_source
from parcast.program.matching import matched_program
from parcast_emulator.program_run import compiled_run

#: Every node exchanges with one that another switch connects.
PROGRAM = """
def program(rank, size, steps=10):
    for step in range(steps):
        compute(1e6)
        sendrecv((rank + 37) % size, 1e6, (rank - 37) % size)
        allreduce(8)
"""

#: SMPI as parcast has it: links that are shared max-min fairly, nothing charged for calls.
SETTINGS = [
    "network/model:CM02",
    "network/TCP-gamma:0",
    "network/weight-S:0",
    "network/crosstraffic:0",
    "network/latency-factor:1",
    "network/bandwidth-factor:1",
    "smpi/os:0:0:0",
    "smpi/or:0:0:0",
    "smpi/ois:0:0:0",
    "smpi/send-is-detached-thresh:65536",
    "smpi/async-small-thresh:0",
    "surf/precision:1e-12",
]

REPLAYER = """#include "simgrid/s4u/Actor.hpp"
#include "smpi/smpi.h"
#include "xbt/replay.hpp"
int main(int, char* argv[]) {  // its trace comes as the first argument
  auto props = simgrid::s4u::Actor::self()->get_properties();
  int rank = atoi(props->at("rank").c_str());
  smpi_replay_init(props->at("instance_id").c_str(), rank, 0);
  smpi_replay_main(rank, argv[1]);
}
"""

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="500ns"
 topology="FAT_TREE" topo_parameters="2;32,{leaves};1,{above};1,1" sharing_policy="SPLITDUPLEX"/>
</zone></platform>
"""


def query(p: int, above: int) -> Query:
    """Return the question; hops have latency, also those of the ports."""
    network = {
        "startup": 0.0, "bandwidth": 12.5e9, "contention": "fair", "eager": "waits",
        "eager_limit": 65535, "header": 16,
    }  # fmt: skip
    tree = {"kind": "fat-tree", "down": [32, p // 32], "up": [1, above], "latency": 5e-7}
    machine = {"name": "tree", "processor": {"rate": 1e9}, "network": network, "topology": tree}
    return Query(workload=read_source(PROGRAM), machine=Registry().machine(machine), p=p, d=1)


def trace(rank: int, operations: Sequence[Operation]) -> str:
    """Return what a process does, as SMPI's time-independent traces have it."""
    listed = [f"{rank} init"]
    for operation in operations:
        arguments = operation.arguments
        if operation.op == "compute":
            listed.append(f"{rank} compute {arguments['flops']:.0f}")
            continue
        size = f"0 {arguments['bytes']:.0f} 6"
        listed.append(f"{rank} isend {arguments['dst']} {size}")
        listed.append(f"{rank} recv {arguments['src']} {size}")
        listed.append(f"{rank} wait {rank} {arguments['dst']} 0")
    return "\n".join([*listed, f"{rank} finalize", ""])


def replayed(asked: Query, above: int, folder: Path) -> tuple[float, float]:
    """Return the time that SMPI's replay predicts, and its CPU seconds."""
    traces, hosts = [], []
    operations = matched_program(asked, pools=True).unrolled.by_rank()
    for rank, of_rank in enumerate(operations):
        path = folder / f"{rank}.txt"
        path.write_text(trace(rank, of_rank), encoding="utf-8")
        traces.append(f"{path}\n")
        hosts.append(f"n{rank}\n")
    (folder / "traces").write_text("".join(traces), encoding="utf-8")
    (folder / "hosts").write_text("".join(hosts), encoding="utf-8")
    platform = PLATFORM.format(last=asked.p - 1, leaves=asked.p // 32, above=above)
    (folder / "platform.xml").write_text(platform, encoding="utf-8")
    (folder / "replay.cpp").write_text(REPLAYER, encoding="utf-8")
    build = ["smpicxx", "-std=c++17", "replay.cpp", "-o", "replay"]
    subprocess.run(build, cwd=folder, check=True)
    command = [
        *("smpirun", "-no-privatize", "-replay", "traces", "-np", str(asked.p)),
        *("-platform", "platform.xml", "-hostfile", "hosts"),
        *(f"--cfg={setting}" for setting in SETTINGS),
        *("./replay", "--log=root.t:warning", "--log=smpi_replay.t:info"),
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    (end,) = re.findall(r"Simulation time ([\d.]+)", done.stdout + done.stderr)
    return float(end), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(p: int, above: int) -> None:
    """Print both answers and their seconds."""
    if shutil.which("smpirun") is None or shutil.which("smpicxx") is None:
        raise SystemExit("smpirun or smpicxx is missing; install SimGrid (libsimgrid-dev)")
    compiled_run(query(64, 1), 0.0).run()  # compiles
    asked, begun = query(p, above), time.process_time()
    run = compiled_run(asked, 0.0)
    run.run()
    own = time.process_time() - begun
    with tempfile.TemporaryDirectory() as folder:
        end, seconds = replayed(asked, above, Path(folder))
    print(f"emulator.tc   {run.time:.6f} s, in {own:.2f} CPU s")
    print(f"SMPI's replay {end:.6f} s, in {seconds:.2f} CPU s: {seconds / own:.0f} times as long")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*[*numbers, *(1024, 16)[len(numbers) :]])
