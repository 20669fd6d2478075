"""``petri.sampled``: each computation's time is drawn from the exact law of one loaded core."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast import Assumption
from parcast.model import Prediction, Query
from parcast.program.matching import matched_program
from parcast_petri.kernel import layout as k
from parcast_petri.machine.load import Load
from parcast_petri.nets.arrays import Memory
from parcast_petri.options import SampledOptions
from parcast_petri.programs.local_operations import Computing
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.traffic import random_traffic
from parcast_petri.solvers import costs, preparation
from parcast_petri.solvers.prediction import of_runs
from parcast_petri.solvers.replay import Replay, run_often
from parcast_petri.theory.transform import SharedCore, shared_core

Array = NDArray[np.float64]

#: Computations of more different lengths are refused: each takes some 50 ms to tabulate.
_MOST_LENGTHS = 500
#: Tails beyond which the law is cut, and points of its table.
_TAIL, _POINTS = 1e-7, 161
#: With more phases the closed form of a long demand takes minutes.
_MOST_PHASES = 16


class Sampled:
    """Draws every computation by itself: exact for one, blind to what lasts beyond one."""

    def supports(self, query: Query) -> str | None:
        """Return None, or why the loads have no closed form."""
        if reason := preparation.refusal(query):
            return reason
        for node, load in preparation.loads(query).items():
            if reason := no_closed_form(load):
                return f"node {node} {reason}; use petri.explicit"
        if random_traffic(query):
            return "traffic of others has no closed form; use petri.explicit"
        nodes = preparation.loaded_nodes(query)
        if len(set(nodes)) < len(nodes):
            return (
                "several processes share a loaded node, and the closed form is for one; use "
                "petri.explicit"
            )
        lengths = _lengths(
            preparation.build_program(query, Nodes(preparation.loads(query))).computing
        )
        if len(lengths) > _MOST_LENGTHS:
            return (
                f"{len(lengths):,} different computations on loaded nodes are more than are "
                f"tabulated ({_MOST_LENGTHS}); use petri.explicit"
            )
        return None

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what times that are drawn one by one take for granted."""
        yield from preparation.network_assumption(query)
        if preparation.loads(query):
            count = _computations(query)
            yield Assumption(
                "each computation meets other jobs than the one before it",
                f"{count} follow each other" if count > 1 else "",
            )

    def cost(self, query: Query) -> float:
        """Return the seconds of the runs, in each of which every computation is drawn by itself."""
        return costs.several_runs(query, max(1, _computations(query)))

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        options: SampledOptions = query.options or SampledOptions()
        loads = preparation.loads(query)
        if not loads:
            played = preparation.play_once(query, Nodes(loads))
            return played.prediction([*played.notes, *preparation.query_notes(query)])
        program = preparation.build_program(query, Nodes(loads))
        details = {"transitions": len(program.net.transitions)}
        tables = _tables(program.computing, loads, idle=options.begin == "idle")
        replay = Replay(
            preparation.program_arrays(query, program),
            lambda memory, draw: _stretch(memory, draw, tables),
            query.seed,
        )
        runs = run_often(replay, program.records, options)
        note = (
            "too low where background jobs outlast a computation: each computation meets jobs "
            "independent of those of the one before"
        )
        undelayed = preparation.undelayed(query, runs.replications.values)
        notes = [*preparation.query_notes(query), *preparation.net_notes(program)]
        notes = [note, *([undelayed] if undelayed else []), *notes]
        return of_runs(query, runs, notes, details)


def _computations(query: Query) -> int:
    """Return how many computations a process has in the mean."""
    unrolled = matched_program(query, pools=True).unrolled
    ranks = (len(unrolled.ranks_of(block)) for block in unrolled.blocks if block.op == "compute")
    return sum(ranks) // query.p


def no_closed_form(load: Load) -> str | None:
    """Return why the time of a demand under a load has no closed form, or None."""
    if load.cores > 1:
        return f"has {load.cores} cores, and the closed form is for one"
    if load.memory:
        return "has jobs that draw memory bandwidth, and the closed form is for their cores alone"
    if load.scheduling != "ps":
        return f"has the scheduling {load.scheduling!r}, and the closed form is for equal shares"
    if load.arrivals.law != "exp":
        law = load.arrivals.law
        return f"has arrivals of law {law!r}, and the closed form is for exponential ones"
    phases = 0
    for demand in load.demands:
        if (phase_type := demand.phases()) is None:
            return f"has demands of law {demand.law!r}, which is not of phase type"
        phases += len(phase_type[0])
    if phases > _MOST_PHASES:
        return f"has demands of {phases} phases, and the closed form is for {_MOST_PHASES} at most"
    return None


def core_of(load: Load) -> SharedCore:
    """Return the core that a load with a closed form shares with a process."""
    phases = [law.phases() for law in load.demands]
    return shared_core(np.array(load.rates()), [law for law in phases if law is not None])


def _lengths(computing: Sequence[Computing]) -> dict[tuple[int, float], list[Computing]]:
    lengths: dict[tuple[int, float], list[Computing]] = defaultdict(list)
    for computation in computing:
        lengths[computation.node, computation.cpu].append(computation)
    return lengths


def _tables(
    computing: Sequence[Computing], loads: dict[int, Load], *, idle: bool
) -> list[tuple[Any, Array, Array, Array]]:
    """Return moments, their times of memory traffic, and the law's probabilities and times."""
    laws: dict[tuple[Load, float], tuple[Array, Array]] = {}
    tables = []
    for (node, cpu), computations in _lengths(computing).items():
        key = loads[node], cpu
        if key not in laws:
            laws[key] = _table(core_of(loads[node]), cpu, idle=idle)
        moments = np.array([computation.moment for computation in computations])
        tables.append(
            (moments, np.array([computation.memory for computation in computations]), *laws[key])
        )
    return tables


def _table(core: SharedCore, demand: float, *, idle: bool) -> tuple[Array, Array]:
    """Return probabilities and times, dense where either end of the law needs it.

    Multiples of the demand that are taken with a probability of their own stand there twice: with
    the probability to end before, and by then.
    """
    law = core.distribution(demand, 1 - _TAIL, idle=idle)
    last = law.quantile(1 - _TAIL)
    times = demand + (last - demand) * np.linspace(0, 1, _POINTS) ** 2
    atom, ratio = core.atoms(demand, idle=idle)
    jumps = atom * ratio ** np.arange(1, max(2, math.floor(last / demand)))
    jumps = jumps[jumps > _TAIL]
    after = demand * np.arange(2, 2 + len(jumps))
    distinct = [np.abs(times - multiple) > 1e-9 * multiple for multiple in after]
    times = np.sort(np.append(times[np.all(distinct, axis=0)], after))
    reached = np.maximum.accumulate(law.probability(times))
    at = np.searchsorted(times, after, side="right") - 1
    return np.insert(reached, at, np.maximum(reached[at] - jumps, 0)), np.insert(times, at, after)


def _stretch(
    memory: Memory, draw: np.random.Generator, tables: Sequence[tuple[Any, Array, Array, Array]]
) -> None:
    for moments, traffic, reached, times in tables:
        seconds = np.interp(draw.random(len(moments)), reached, times)
        memory.f[memory.m[k.DELAY] + moments] = np.maximum(seconds, traffic)
