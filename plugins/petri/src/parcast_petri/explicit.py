"""``petri.explicit``: background jobs are part of the net and share the processors of the nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parcast.query import Prediction, Query
from parcast.replications import replicate
from parcast_petri import advice, questions
from parcast_petri.answers import of_run, of_runs
from parcast_petri.kernel import layout as k
from parcast_petri.options import SampledOptions
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.traffic import random_traffic
from parcast_petri.replay import Beginnings, Replay, untouched


class Explicit:
    """Runs a program's net with jobs that come and go, until the mean is known well enough."""

    cost = staticmethod(advice.of_runs)
    assumptions = staticmethod(advice.of_explicit)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the program has no net here."""
        return questions.refusal(query)

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        options: SampledOptions = query.options or SampledOptions()
        loads = questions.loads(query)
        made = questions.drawn(query, Nodes(loads, explicit=True))
        details = {"transitions": len(made.net.transitions)}
        if not made.others.loads and not made.others.sources:
            play = questions.played(query, made)
            return of_run(made.records.read(play.memory.column(k.LAST)), (), details)
        playable = questions.playable(query, made, "compiled")
        begin = Beginnings(playable, made.others)
        idle = options.begin == "idle"
        replay = Replay(
            playable, untouched if idle else begin.draw, query.seed, slots=begin.room() + 64
        )
        spent: list[NDArray[np.float64]] = []

        def sample(numbers: Sequence[int]) -> list[float]:
            accounts = [made.records.read(replay.times(number)) for number in numbers]
            spent.extend(account.spent.mean(axis=0) for account in accounts)
            return [account.time for account in accounts]

        found = replicate(sample, tolerance=options.tolerance, most=options.most)
        notes = [f"{len(loads)} loaded nodes, their jobs in the net"] if loads else []
        if random_traffic(query):
            notes.append("traffic of others in the net")
        return of_runs(
            query, found, np.mean(spent, axis=0), notes, {**details, "firings": replay.firings}
        )
