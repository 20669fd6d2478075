"""What recording costs a call: sends to nobody, with the tracer and without, in one run.

Run as ``python plugins/mpi/benchmarks/tracing.py``; it needs an MPI library and its compiler.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from parcast_mpi.library import find_launcher, find_tool
from parcast_mpi.tracing.building import tracer

SOURCE = """
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}
int main(int n, char **w) {
    enum { CALLS = 2000000 };
    MPI_Init(&n, &w);
    double start = cpu();
    for (int i = 0; i < CALLS; i++) MPI_Send(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    printf("%g", (cpu() - start) / CALLS);
    return MPI_Finalize();
}
"""


def main() -> None:
    """Print nanoseconds of the processor a call, the smallest of five runs each."""
    mpicc = find_tool("mpicc")
    assert mpicc, "there is no mpicc"
    launcher = find_launcher()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "calls.c").write_text(SOURCE)
        program = str(folder / "calls")
        subprocess.run([mpicc, "-O2", "-o", program, str(folder / "calls.c")], check=True)
        words = [f"LD_PRELOAD={tracer(mpicc)}", f"PARCAST_TRACE={folder}"]
        plain, traced = [], []
        for _ in range(5):  # in turn, so that both meet the same load
            for costs, command in ((plain, [program]), (traced, ["env", *words, program])):
                done = subprocess.run(
                    launcher.command(1, command), check=True, capture_output=True, text=True,
                    env={**os.environ, **launcher.environment},
                )  # fmt: skip
                costs.append(float(done.stdout))
    more = min(traced) - min(plain)
    print(f"{launcher}: a call takes {min(plain):.1f} ns, recorded {min(traced):.1f} ns", end="")
    print(f"; recording costs {more:.1f} ns, {more / 100:.2f} of 0.1 us")


if __name__ == "__main__":
    main()
