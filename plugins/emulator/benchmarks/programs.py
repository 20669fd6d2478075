"""Compare the compiled kernels of programs with processes that do the same, in one run.

python benchmarks/programs.py [processes]
"""

from __future__ import annotations

import sys
import time

from parcast import Query, Registry
from parcast.program.matching.prepare import matched_program
from parcast_emulator.program_run import compiled_run, process_run

#: Any will do; messages meet at the ports.
MACHINE = {
    "name": "cluster",
    "processor": {"rate": 1e9},
    "network": {"startup": 1e-5, "bandwidth": 1e9, "contention": "endpoint"},
}


def main(p: int) -> None:
    """Print both rates and their ratio; all ends and parts must be equal in every bit."""
    registry = Registry()
    machine = registry.machine(MACHINE)
    query = Query(workload=registry.workload("stencil2d"), machine=machine, p=p, d=1)
    count = matched_program(query).unrolled.count()
    compiled_run(query, 0.0).run()  # compiles
    runs, seconds = {}, {}
    for name, made in (("compiled", compiled_run), ("processes", process_run)):
        runs[name], begun = made(query, 0.0), time.process_time()
        runs[name].run()
        seconds[name] = time.process_time() - begun
        print(f"{name:9s} {seconds[name]:7.2f} CPU s, {count / seconds[name]:12,.0f} operations/s")
    print(f"ratio     {seconds['processes'] / seconds['compiled']:7.0f}")
    assert runs["compiled"].ends == runs["processes"].ends
    assert runs["compiled"].parts == runs["processes"].parts


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
