"""``emulator.lc``: loosely coupled simulation, an epoch of blocks at a time."""

from __future__ import annotations

from typing import Literal

import attrs

from parcast import Prediction, Query, UnsupportedError
from parcast_emulator.emulators.of_program import Processes
from parcast_emulator.hardware import cluster_of
from parcast_emulator.progress import simulation_progress
from parcast_emulator.results import application_assumptions, prediction
from parcast_emulator.simulation import simulate, verify
from parcast_emulator.solvers import costs

_ASSUMPTIONS = (
    "reads, sends and computations are asynchronous, and every server takes first what came first",
)


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose; none but ``epochs`` changes an answer."""

    engine: Literal["auto", "feed-forward", "merge"] = "auto"
    epochs: Literal["common", "own"] = "common"  #: when a node begins the next epoch
    verify: bool = False  #: run both engines and compare every bit


class LooselyCoupled:
    """Predicts an emulated application on nodes with disks, buses and ports."""

    assumptions = staticmethod(application_assumptions)

    def supports(self, query: Query) -> str | None:
        """Return None, or which part of the machine is missing or contradicts another."""
        if isinstance(query.workload.content, Processes):
            return (
                "the processes of a program decide call by call what they do next, and blocks "
                "are known beforehand; use emulator.tc"
            )
        try:
            cluster_of(query)
        except UnsupportedError as error:
            return str(error)
        return None

    def cost(self, query: Query) -> float | None:
        """Return the seconds that simulating all blocks takes; None where they are very many."""
        count = costs.count_operations(query)
        return None if count is None else costs.ANSWER + costs.BLOCKS * count

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        cluster, content = cluster_of(query), query.workload.content
        options: Options = query.options or Options()
        if options.verify:
            outcome = verify(cluster, lambda: content.epochs(query, cluster))
        else:
            with simulation_progress() as progress:
                outcome = simulate(
                    cluster,
                    content.epochs(query, cluster),
                    engine=options.engine,
                    own_epochs=options.epochs == "own",
                    progress=progress,
                )
        return prediction(query, cluster, outcome, _ASSUMPTIONS)
