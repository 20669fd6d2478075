"""Background jobs for real: processes that burn one core, each for as long as its job takes.

Every job has a process of its own, so that the system shares the core among the jobs that are
there and whatever else wants it. Run as a module it reads the jobs from its standard input.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable, Sequence

from parcast.errors import UnsupportedError
from parcast_mpi.loading.jobs import Job, read_jobs

#: So many jobs may be under way at once; others wait before they begin.
MOST_AT_ONCE = 64
_DEMAND = struct.Struct("d")


def burn(seconds: float) -> None:
    """Use so many seconds of a core, by the process's own clock."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def pin(core: int) -> None:
    """Let this process run on one core only.

    Raises
    ------
    UnsupportedError
        If the system has no such core, or no way to ask for it.
    """
    try:
        os.sched_setaffinity(0, {core})
    except AttributeError:
        raise UnsupportedError("processes are pinned to cores on Linux only") from None
    except OSError:
        allowed = sorted(os.sched_getaffinity(0))
        raise UnsupportedError(f"there is no core {core} here; take one of {allowed}") from None


def child(work: Callable[[], None]) -> int:
    """Return a process that does ``work`` and ends."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return process


def generate(jobs: Sequence[Job], core: int) -> float:
    """Run jobs as they come and return how many seconds of the core they used.

    Raises
    ------
    UnsupportedError
        If they cannot be pinned to the core.
    """
    pin(core)
    inbox, outbox = os.pipe()

    def work() -> None:
        os.close(outbox)
        while packed := os.read(inbox, _DEMAND.size):
            burn(*_DEMAND.unpack(packed))

    workers = [child(work) for _ in range(min(MOST_AT_ONCE, len(jobs)))]
    os.close(inbox)
    begun = time.monotonic()
    try:
        for job in jobs:
            time.sleep(max(0.0, begun + job.arrival - time.monotonic()))
            os.write(outbox, _DEMAND.pack(job.demand))
    except BaseException:
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        raise
    finally:
        os.close(outbox)
        used = [os.wait4(worker, 0)[2] for worker in workers]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _stop(*_: object) -> None:
    sys.exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _stop)
    print(json.dumps(generate(read_jobs(sys.stdin.read(), "jobs"), int(sys.argv[1]))))  # noqa: T201
