"""``petri.mean``: the paper's net, each computation stretched by its node's mean slowdown."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption
from parcast.model import Prediction, Query
from parcast_petri.programs.nodes import Nodes
from parcast_petri.solvers import costs, preparation


class Mean:
    """Plays the net of a program once, with mean delays (Anglano 1998, equations 1 to 6)."""

    cost = staticmethod(costs.one_run)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the program has no net here."""
        return preparation.refusal(query)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what mean delays take for granted."""
        yield from preparation.network_assumption(query)
        if loaded := len(preparation.loads(query)):
            yield Assumption(
                "only one node is loaded, so that means are enough",
                f"{loaded} are" if loaded > 1 else "",
            )

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        loads = preparation.loads(query)
        played = preparation.play_once(query, Nodes(loads))
        notes = [*played.notes, *preparation.query_notes(query)]
        if len(loads) > 1 and query.p > 1:
            notes.append(
                f"too low: {len(loads)} nodes are loaded, processes that wait for each other take "
                "the maximum of random times, and mean times leave that out; in rings of 4 and 8 "
                "processes at U = 0.3 to 0.5 the simulated mean is 10 to 110 % higher; use "
                "petri.explicit"
            )
        if any(not load.memoryless or load.scheduling == "priority" for load in loads.values()):
            notes.append(
                "too high or too low: arrivals depend on the past, or the background goes first; "
                "the mean slowdown is that of a long computation, and a program that begins finds "
                "another number of jobs; use petri.explicit"
            )
        return played.prediction(notes, firings=played.firings)
