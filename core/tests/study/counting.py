"""A plugin for tests of studies: its solver writes down every point it is asked about.

PARCAST_COUNT names the file; with PARCAST_MOST, whoever is asked when so many are in it waits for
ever. A worker that meets p = PARCAST_DEADLY ends at once, for good where
PARCAST_ONCE is not set, else only while that file is not there.
"""

import os
import signal
import time
from pathlib import Path

from parcast import Prediction, SolverEntry, hookimpl


def lines():
    """Return how many points are written down."""
    file = Path(os.environ.get("PARCAST_COUNT", os.devnull))
    return file.read_bytes().count(b"\n") if file.exists() else 0


class Counts:
    """The time is 100 s over p, times d, and with several processes what seed and mapping add."""

    def supports(self, query):
        return "no p of 13" if query.p == 13 else None

    def solve(self, query):
        begun, seconds = time.perf_counter(), float(os.environ.get("PARCAST_SECONDS", "0"))
        if str(query.p) == os.environ.get("PARCAST_DEADLY"):
            once = os.environ.get("PARCAST_ONCE")
            if once is None or not Path(once).exists():
                if once is not None:
                    Path(once).touch()
                os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(max(0, begun + seconds - time.perf_counter()))
        while lines() >= int(os.environ.get("PARCAST_MOST", "1000000")):
            time.sleep(0.01)
        if "PARCAST_COUNT" in os.environ:
            with Path(os.environ["PARCAST_COUNT"]).open("ab", buffering=0) as file:
                file.write(f"{query.p},{query.d},{query.values.get('n')}\n".encode())
        threads = {name: value for name, value in os.environ.items() if "NUM_THREADS" in name}
        alone, node = query.p == 1, query.mapping[0]
        more = 0 if alone else query.seed + (3 if node == 3 else 0)
        return Prediction(
            time=100 / query.p * query.d * query.values.get("n", 1) + more,
            details={"seed": query.seed, "threads": threads},
        )


class Second(Counts):
    """The same by another name."""


@hookimpl
def parcast_solvers():
    yield SolverEntry("counts", "phases", "counting:Counts", "Counts.")
    yield SolverEntry("second", "phases", "counting:Second", "Counts too.")
