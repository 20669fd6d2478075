"""How fast traces are read: events and megabytes a CPU second, and memory, beside a floor.

The trace is a ring of 64 ranks. The floor of a text is a loop over its lines that splits them,
of JSON the standard library's parser, of OTF2 the ``otf2`` package's own reader where it is
installed, of columns a checksum over the file. Each is read in a process of its own. Profiles of
PyTorch are written by hand: kernels and calls of one rank.

    python reading.py [steps]
    python reading.py --long SUFFIX MEGABYTES      (.tit, .prv or .goal)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from long_traces import WRITERS

from parcast_traces.readers import read_trace
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.recording import Recording
from parcast_traces.writers import write_trace

STEPS = 2_000
SIZE = 64


def by_lines(path: Path) -> None:
    """Split every line."""
    with path.open() as file:
        for line in file:
            line.split()


def by_json(path: Path) -> None:
    """Parse the whole file."""
    json.loads(path.read_bytes())


def by_otf2(path: Path) -> None:
    """Make every event of an archive."""
    import otf2

    with otf2.reader.open(str(path)) as archive:
        for _ in archive.events:
            pass


def by_checksum(path: Path) -> None:
    """Read every byte."""
    zlib.crc32(path.read_bytes())


FLOORS: Mapping[str, Callable[[Path], None]] = {
    ".tit": by_lines,
    ".prv": by_lines,
    ".goal": by_lines,
    ".json": by_json,
    ".otf2": by_otf2,
    ".trace": by_checksum,
    ".pt.trace.json": by_json,
}


def profile(path: Path, steps: int) -> None:
    """Write a profile of PyTorch: a step is ten kernels and an allreduce."""
    events = []
    for number in range(steps * 64):
        last = number % 11 == 10
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if last else f"gemm{number % 7}"
        arguments = {"stream": 7, "device": 0, "correlation": number}
        if last:
            arguments |= {"Collective name": "allreduce", "In msg nelems": 1024, "dtype": "Float",
                          "Group size": 2, "Process Group Name": "0"}  # fmt: skip
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7,
                       "ts": 100 + 20 * number, "dur": 15, "args": arguments})  # fmt: skip
    text = {"schemaVersion": 1, "traceEvents": events,
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}}  # fmt: skip
    path.write_text(json.dumps(text))


def ring(steps: int) -> Trace:
    """Return a run of which each step is two exchanges and a sum."""
    recording = Recording(SIZE)
    for rank, recorder in enumerate(recording.ranks):
        recorder.local("init", 0, 0)
        for step in range(steps):
            at, right, left = 30.0 * step, (rank + 1) % SIZE, (rank - 1) % SIZE
            recorder.exchange(at + 10, at + 14, right, 4096, 1, left, 1, room=4096)
            recorder.exchange(at + 14, at + 18, left, 4096, 2, right, 2, room=4096)
            recorder.collective("allreduce", at + 20, at + 30, 8)
        recorder.local("finalize", 30.0 * steps, 30.0 * steps)
    return recording.trace(tick=1e-6, comparable=True)


def files(folder: Path, steps: int) -> list[Path]:
    """Write the trace in every format."""
    trace, written = ring(steps), []
    for suffix in (name for name in FLOORS if name != ".prv"):  # which is read only
        path = folder / f"run{suffix}"
        if suffix == ".pt.trace.json":
            profile(path, steps)
        else:
            write_trace(trace, path)
        written.append(path)
    return written


def measured(reader: str, path: Path) -> tuple[float, float, int]:
    """Return CPU seconds, peak memory in MB and events of one reading, in a process of its own."""
    line = [sys.executable, __file__, "--one", reader, str(path)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    seconds, memory, count = done.stdout.split()
    return float(seconds), float(memory), int(count)


def read_once(reader: str, path: Path) -> None:
    """Read a file, and print what it took."""
    began, count = time.process_time(), 0
    if reader == "parcast":
        count = read_trace(path, assume_alike=path.name.endswith(".pt.trace.json")).count
    else:
        FLOORS[reader](path)
    print(time.process_time() - began, peak_memory(), count)


def peak_memory() -> float:
    """Return the most megabytes that this process has had; of a parent, rusage says its own."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def bytes_of(path: Path) -> int:
    """Return the bytes of a file, or of all files of an archive."""
    files = path.parent.rglob("*.*") if path.suffix == ".otf2" else [path]
    kinds = (".otf2", ".def", ".evt") if path.suffix == ".otf2" else (path.suffix,)
    return sum(file.stat().st_size for file in files if file.suffix in kinds)


def show(path: Path) -> None:
    """Print a line for a file."""
    suffix = ".pt.trace.json" if path.name.endswith(".pt.trace.json") else path.suffix
    seconds, memory, count = measured("parcast", path)
    megabytes = bytes_of(path) / 1e6
    line = (f"{suffix:15} {megabytes:8.1f} MB {count:10,} events {count / seconds:10,.0f} a second"
            f" {megabytes / seconds:7.1f} MB/s {memory:7.0f} MB of memory")  # fmt: skip
    try:
        floor = measured(suffix, path)[0]
    except subprocess.CalledProcessError:
        print(f"{line}; no peer is installed")
    else:
        print(f"{line}; {seconds / max(floor, 1e-3):5.1f} times its floor")


def main() -> None:
    """Print a line for each format, or for a long trace."""
    if sys.argv[1:2] == ["--one"]:
        read_once(sys.argv[2], Path(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if sys.argv[1:2] == ["--long"]:
            path = folder / f"long{sys.argv[2]}"
            WRITERS[sys.argv[2]](path, int(sys.argv[3]))
            show(path)
            return
        for path in files(folder, int(sys.argv[1]) if sys.argv[1:] else STEPS):
            show(path)


if __name__ == "__main__":
    main()
