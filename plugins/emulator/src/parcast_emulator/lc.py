"""``emulator.lc``: loosely coupled simulation, an epoch of blocks at a time."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from parcast import Prediction, Query, UnsupportedError
from parcast_emulator.answers import SERVERS, binding, resources
from parcast_emulator.hardware import cluster_of
from parcast_emulator.simulation import Outcome, simulate, verify

_ASSUMPTIONS = (
    "reads, sends and computations are asynchronous, and every server takes first what came first",
    "links and topology of the network are free; a node's port carries one message at a time",
)
_MICROSCOPE = "what is sent to clients outside the machine is not simulated"


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose; none but ``epochs`` changes an answer."""

    engine: Literal["auto", "feed-forward", "merge"] = "auto"
    epochs: Literal["common", "own"] = "common"  #: when a node begins the next epoch
    verify: bool = False  #: run both engines and compare every bit


class LooselyCoupled:
    """Predicts an emulated application on nodes with disks, buses and ports."""

    def supports(self, query: Query) -> str | None:
        """Return None, or which part of the machine is missing or contradicts another."""
        try:
            cluster_of(query)
        except UnsupportedError as error:
            return str(error)
        return None

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        cluster, content = cluster_of(query), query.workload.content
        options: Options = query.options or Options()
        if options.verify:
            outcome = verify(cluster, lambda: content.epochs(query, cluster))
        else:
            outcome = simulate(
                cluster,
                content.epochs(query, cluster),
                engine=options.engine,
                own_epochs=options.epochs == "own",
            )
        bound = binding(cluster, outcome)
        return Prediction(
            time=outcome.time,
            lower=outcome.lower,
            binding=dict(SERVERS.values())[bound],
            notes=(_note(bound, resources(cluster, outcome)[bound]),),
            assumptions=(*_ASSUMPTIONS, *((_MICROSCOPE,) if content.virtual_microscope else ())),
            details=_details(query, outcome, resources(cluster, outcome)),
        )


def _note(word: str, used: dict[str, float]) -> str:
    return (
        f"the busiest {word} works {used['hottest']:.0%} of the time, the mean one "
        f"{used['utilization']:.0%}: equal shares would be up to {used['hot_to_mean']:.2f} "
        "times as fast there"
    )


def _details(query: Query, outcome: Outcome, found: Any) -> dict[str, Any]:
    details = {
        "engine": outcome.engine,
        "operations": outcome.operations,
        "epochs": len(outcome.epoch_ends),
        "resources": found,
    }
    if outcome.reason is not None:
        details["not_feed_forward"] = outcome.reason
    closed = query.workload.content.closed_form(query)
    if closed is not None:
        details["closed_form"] = closed
    return details
