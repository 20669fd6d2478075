"""Propagation against SimGrid's replay of the same trace, and the memory of a long one.

A torus of 8 x 8 ranks: each iteration four irecv, four isend, a waitall and computation.
Both are charged CPU seconds of one core. SimGrid (Debian: libsimgrid-dev) also reads the text
each time; propagation starts from columns, as it does after `parcast perturb save`, and draws
noise for every call and gap.

    python replay.py [iterations]
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_traces.readers import columnar, time_independent
from parcast_traces.trace.recording import Recording

sys.path.append(str(Path(__file__).parents[1]))
from tests.timed import with_times

SIDE, BYTES, WORK = 8, 1024, 1_000_000
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-63" speed="1Gf" bw="1GBps" lat="2us"/>
</platform>
"""


def neighbors(rank: int) -> list[int]:
    """Return the ranks to the right, left, below and above."""
    x, y = rank % SIDE, rank // SIDE
    return [
        (x + 1) % SIDE + SIDE * y,
        (x - 1) % SIDE + SIDE * y,
        x + SIDE * ((y + 1) % SIDE),
        x + SIDE * ((y - 1) % SIDE),
    ]


def actions(rank: int, iterations: int) -> Iterator[str]:
    """Yield the lines of one rank."""
    yield f"{rank} init 1"
    for _ in range(iterations):
        for tag, peer in enumerate(neighbors(rank)):
            yield f"{rank} irecv {peer} {tag ^ 1} {BYTES}"
        for tag, peer in enumerate(neighbors(rank)):
            yield f"{rank} isend {peer} {tag} {BYTES}"
        yield f"{rank} waitall"
        yield f"{rank} compute {WORK}"
    yield f"{rank} finalize"


def simgrid(folder: Path, iterations: int) -> float:
    """Return the CPU seconds of SimGrid's replay."""
    text = "\n".join(line for rank in range(SIDE**2) for line in actions(rank, iterations))
    (folder / "trace.txt").write_text(text + "\n")
    (folder / "index.txt").write_text(f"{folder / 'trace.txt'}\n")
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"h{rank}\n" for rank in range(SIDE**2)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        ["smpirun", "-no-privatize", "-np", str(SIDE**2), "-platform", "platform.xml",  # noqa: S607
         "-hostfile", "hosts", "-replay", "index.txt", "--log=replay.thresh:critical"],
        cwd=folder, check=True, capture_output=True, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def long_trace(path: Path, iterations: int) -> int:
    """Write the same run as columns, for traces too long for text; return its events."""
    recording = Recording(SIDE**2)
    for rank in recording.ranks:
        clock, peers = 0.0, neighbors(rank.rank)
        for _ in range(iterations):
            for tag, peer in enumerate(peers):
                rank.receive("irecv", clock, clock + 1, peer, tag ^ 1, request=tag)
                clock += 1
            for tag, peer in enumerate(peers):
                rank.send("isend", clock, clock + 1, peer, BYTES, tag, request=4 + tag)
                clock += 1
            rank.wait("waitall", clock, clock + 50, range(8))
            clock += 1050
    trace = recording.trace(tick=1e-9)
    columnar.write(trace, path)
    return trace.count


def peak(path: Path, most: int = -1) -> int:
    """Return the peak memory of the command on a file, in KiB, as Linux counts it.

    Up to ``most`` events are asked in plain Python, without numba, which takes memory too.
    """
    code = (
        f"from parcast_perturb.propagation import forms;forms.PROPAGATION.plain_steps={most};"
        "import sys;from pathlib import Path;from parcast.cli import main;"
        "main(['perturb','run',sys.argv[1],'--os-noise','exp:1us','--policy','upper','--json']);"
        "print(*Path('/proc/self/status').read_text().split(),file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
    )
    words = done.stderr.split()
    return int(words[words.index("VmHWM:") + 1])


def main() -> None:
    """Print the ratios."""
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 1200
    values = np.random.default_rng(1).exponential(25e-6, 65536)
    noise = Perturbation(noise=(Addition(values=values),), compute=(Addition(values=values),))
    known = Recorded(latency=2e-6, per_byte=1e-9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        theirs = simgrid(folder, iterations) if shutil.which("smpirun") else float("nan")
        few = min(iterations, 200)
        lines = (line for rank in range(SIDE**2) for line in actions(rank, few))
        (folder / "few.tit").write_text("\n".join(lines))
        columnar.write(
            with_times(time_independent.read(folder / "few.tit"), known, 1e-9),
            folder / "few.trace",
        )
        trace = columnar.read(folder / "few.trace")
        for replications in (1, 1, 16):  # the first compiles
            start = time.process_time()
            propagate(trace, noise, known, "upper", replications=replications)
            ours = time.process_time() - start
            rate = trace.count * replications / ours / 1e6
            ratio = theirs / iterations / (ours / few / replications)
            said = f"SimGrid takes {ratio:.0f} times the CPU time an iteration"
            print(f"{replications:3} replications: {rate:6.1f} M events/s; {said}")
        empty, count = long_trace(folder / "0.trace", 0), long_trace(folder / "1.trace", iterations)
        low, high = peak(folder / "0.trace"), peak(folder / "1.trace")
        plain = peak(folder / "0.trace", 0)
        print(f"without numba, {empty} events {plain >> 10} MiB")
        size = (folder / "1.trace").stat().st_size >> 20
        print(f"peak memory: {empty} events {low >> 10} MiB; {count:,} events {high >> 10} MiB")
        print(f"that trace has {size} MiB on disk")


if __name__ == "__main__":
    main()
