"""Executors by name: ``processes:4`` and ``threads:4``; plugins add more."""

from __future__ import annotations

import gc
import os
import re
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess

from parcast.errors import UnknownNameError
from parcast.startup import SELDOM

#: What libraries read to know how many threads to start: one in each of several processes.
_THREADS = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

#: Held while a process starts: two threads would take each other's numbers for the user's.
_ENVIRONMENT = threading.Lock()

_SPEC = re.compile(r"(processes|threads)(?::(\d{1,4}))?")


def local_executor(spec: str) -> Executor | None:
    """Return the executor on this machine that ``spec`` names, or None where it names another.

    Without a number there is one worker for each core that this process may use. Processes are
    spawned, never forked, and their libraries have one thread each.

    Raises
    ------
    UnknownNameError
        If no worker is asked for.
    """
    match = _SPEC.fullmatch(spec)
    if match is None:
        return None
    workers = _cores() if match[2] is None else int(match[2])
    if workers < 1:
        raise UnknownNameError(f"executor {spec!r} needs at least one worker")
    if match[1] == "threads":
        return ThreadPoolExecutor(workers)
    return ProcessPoolExecutor(workers, mp_context=_Context(), initializer=_begin)


def _cores() -> int:
    """Return how many cores this process may use, where the system says it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Process(SpawnProcess):
    """A process whose libraries start one thread each."""

    def start(self) -> None:
        with _ENVIRONMENT:
            before = {name: os.environ.get(name) for name in _THREADS}
            os.environ.update(dict.fromkeys(_THREADS, "1"))
            try:
                super().start()
            finally:
                for name, value in before.items():
                    if value is None:
                        del os.environ[name]
                    else:
                        os.environ[name] = value


class _Context(SpawnContext):
    """Spawns such processes."""

    Process = _Process


def _begin() -> None:
    """Leave Ctrl-C to the parent, end with it however it ends, and seldom look for cycles."""
    gc.set_threshold(*SELDOM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
