"""A plugin whose solver takes exactly a millisecond a point."""

from __future__ import annotations

import time
from collections.abc import Iterator

from parcast import Prediction, Query, SolverEntry, hookimpl


class Paced:
    """Spins for a millisecond."""

    def supports(self, query: Query) -> str | None:
        """Take everything."""
        del query

    def solve(self, query: Query) -> Prediction:
        """Return a time of one second, a millisecond later."""
        end = time.perf_counter() + 1e-3
        while time.perf_counter() < end:
            pass
        return Prediction(time=1.0 / query.p)


@hookimpl
def parcast_solvers() -> Iterator[SolverEntry]:
    """Add the solver."""
    yield SolverEntry("paced", "phases", "paced:Paced", "A millisecond a point.")
