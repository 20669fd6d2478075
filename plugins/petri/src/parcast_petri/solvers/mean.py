"""``petri.mean``: the paper's net, each computation stretched by its node's mean slowdown."""

from __future__ import annotations

from parcast.model import Prediction, Query
from parcast_petri.kernel import layout as k
from parcast_petri.programs.nodes import Nodes
from parcast_petri.solvers import advice
from parcast_petri.solvers import preparation as questions
from parcast_petri.solvers.prediction import of_run


class Mean:
    """Plays the net of a program once, with mean delays (Anglano 1998, equations 1 to 6)."""

    cost = staticmethod(advice.of_one_run)
    assumptions = staticmethod(advice.of_mean)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the program has no net here."""
        return questions.refusal(query)

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        loads = questions.loads(query)
        made = questions.drawn(query, Nodes(loads))
        play = questions.played(query, made)
        notes = questions.notes(made)
        if len(loads) > 1 and query.p > 1:
            notes.append(
                f"{len(loads)} loaded nodes: processes that wait for each other take the maximum "
                "of random times, which means leave out: the true mean was 10 to 110 % above this "
                "in rings of 4 and 8 processes at U = 0.3 to 0.5; ask petri.explicit"
            )
        if any(not load.drawable or load.scheduling == "priority" for load in loads.values()):
            notes.append(
                "arrivals have a memory, or the background goes first: the mean is that of work "
                "underway for long, and a program finds other jobs as it begins; ask petri.explicit"
            )
        return of_run(
            made.records.read(play.memory.column(k.LAST)),
            notes,
            {"transitions": len(made.net.transitions), "firings": play.firings},
        )
