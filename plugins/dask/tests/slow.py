"""A plugin for tests: a solver that takes PARCAST_SECONDS, or ends its worker at one p."""

import os
import signal
import time

from parcast import Prediction, SolverEntry, hookimpl


class Slow:
    """The time is 100 s over p, and what the seed adds."""

    def supports(self, query):
        return None

    def solve(self, query):
        time.sleep(float(os.environ.get("PARCAST_SECONDS", "0")))
        if str(query.p) == os.environ.get("PARCAST_DEADLY"):
            os.kill(os.getpid(), signal.SIGKILL)
        return Prediction(time=100 / query.p * query.d + query.seed)


@hookimpl
def parcast_solvers():
    yield SolverEntry("slow", "phases", "slow:Slow", "Slow.")
