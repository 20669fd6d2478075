"""``petri.explicit``: background jobs are part of the net and share the processors of the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption
from parcast.model import Prediction, Query
from parcast_petri.options import SampledOptions
from parcast_petri.programs.lowering import ProgramNet
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.traffic import random_traffic
from parcast_petri.solvers import costs, preparation
from parcast_petri.solvers.prediction import of_runs
from parcast_petri.solvers.replay import Beginnings, Replay, Runs, run_often, untouched


class Explicit:
    """Runs a program's net with jobs that come and go, until the mean is known well enough."""

    cost = staticmethod(costs.several_runs)  #: jobs last beyond computations

    def supports(self, query: Query) -> str | None:
        """Return None, or why the program has no net here."""
        return preparation.refusal(query)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what jobs in the net take for granted."""
        yield from preparation.network_assumption(query)
        if preparation.loads(query):
            yield Assumption("jobs of others come at random, whatever the program does")

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        loads = preparation.loads(query)
        build = Nodes(loads, explicit=True)
        if not loads and not random_traffic(query):
            played = preparation.play_once(query, build)
            return played.prediction([*played.notes, *preparation.query_notes(query)])
        program = preparation.build_program(query, build)
        details = {"transitions": len(program.net.transitions)}
        runs = replications(query, program)
        nodes = f"{len(loads)} loaded nodes" if len(loads) > 1 else "1 loaded node"
        notes = [f"the background jobs of {nodes} are simulated"] if loads else []
        if random_traffic(query):
            notes.append("the traffic of others is simulated")
        if undelayed := preparation.undelayed(query, runs.replications.values):
            notes.append(undelayed)
        notes += [*preparation.query_notes(query), *preparation.net_notes(program)]
        return of_runs(query, runs, notes, details)


def replications(query: Query, program: ProgramNet, least: int = 10) -> Runs:
    """Run a program's net until its mean time is known as well as the options ask."""
    options: SampledOptions = query.options or SampledOptions()
    playable = preparation.program_arrays(query, program)
    begin = Beginnings(playable, program.background)
    prepare = untouched if options.begin == "idle" else begin.draw
    replay = Replay(playable, prepare, query.seed, slots=begin.room() + 64)
    return run_often(replay, program.records, options, least)
