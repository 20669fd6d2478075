"""``python -m parcast_mpi.tracing.fallback PROGRAM ...``: run it as Python would, and record it."""

from __future__ import annotations

import atexit
import os
import runpy
import sys
from pathlib import Path

from mpi4py import MPI

from parcast_mpi.tracing.fallback import communicators, requests
from parcast_mpi.tracing.fallback.recorder import Recorder, now


def install(folder: Path) -> None:
    """Put recorded communicators and requests in the place of mpi4py's own."""
    start, world = now(), MPI.COMM_WORLD
    recorder = Recorder(folder, world.rank, world.size)
    requests.RequestOrigin.recorder = communicators.RecordedComm.recorder = recorder
    recorder.record("init", start)
    comm_self = MPI.COMM_SELF
    whole = communicators.record_world(world)
    MPI.Request, MPI.Prequest = requests.Request, requests.Prequest  # type: ignore[misc]
    MPI.COMM_SELF = communicators.record_communicator(comm_self)  # type: ignore[misc]
    MPI.COMM_WORLD = whole  # type: ignore[misc]
    atexit.register(_end, recorder)


def _end(recorder: Recorder) -> None:
    recorder.record("finalize", now())
    recorder.close()


def run(words: list[str]) -> None:
    """Run a file, ``-m MODULE`` or ``-c CODE`` as the main module."""
    first, *arguments = words
    if first == "-m":
        sys.argv, sys.path[0] = arguments, ""
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv, sys.path[0] = ["-c", *arguments[1:]], ""
        exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
    else:
        sys.argv, sys.path[0] = words, str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    install(Path(os.environ["PARCAST_TRACE"]))
    run(sys.argv[1:])
