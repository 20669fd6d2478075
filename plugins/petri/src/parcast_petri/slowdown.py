"""``parcast petri slowdown``: how long a demand takes on one loaded node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np

from parcast.comparison import Tell, silent
from parcast.errors import ParcastError, UnsupportedError
from parcast.quantities import replicate
from parcast_petri.kernel import layout as k
from parcast_petri.machine.load import Load
from parcast_petri.nets.arrays import kernel_arrays
from parcast_petri.programs.background_net import BackgroundNet, build_warm_up
from parcast_petri.programs.net_builder import OUTSET, NetBuilder
from parcast_petri.programs.nodes import build_node, computing_load, process_speed
from parcast_petri.programs.round_robin import build_slots, build_turns, core_place
from parcast_petri.solvers.replay import Beginnings, Replay, untouched
from parcast_petri.solvers.sampled import core_of, no_closed_form
from parcast_petri.theory.spread import standard_deviation

#: Where a demand begins: in the midst of a computation that has long been going on; on a node that
#: nobody but its jobs, and the other processes, have used; or with no job there.
Begin = Literal["underway", "steady", "idle"]
#: Simulations that take some ten seconds: runs, and jobs or turns in all of them.
_MOST_RUNS, _LEAST_RUNS, _MANY_JOBS = 20_000, 100, 1e7
#: One run may have so many.
_LONGEST = 1e7
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@attrs.frozen(kw_only=True)
class Slowdown:
    """The time of one demand beside background jobs and other processes that never stop.

    Raises
    ------
    ParcastError
        If the demand or the deadline is not above 0.
    """

    load: Load
    demand: float
    own: int = 1  #: processes of the program on the node, this one included
    begin: Begin = "underway"
    deadline: float | None = None
    seed: int = 0
    runs: int | None = None  #: where it must be simulated; None: as many as take seconds

    def __attrs_post_init__(self) -> None:
        for name, seconds in (("demand", self.demand), ("deadline", self.deadline)):
            if seconds is not None and not 0 < seconds < math.inf:
                raise ParcastError(f"{name} {seconds:g} s must be above 0, such as 250ms")

    def answer(self, tell: Tell = silent) -> dict[str, Any]:
        """Return factor, mean, std, quantiles and how each was found.

        ``tell`` hears how far a simulation is.

        Raises
        ------
        UnsupportedError
            If one run is more than can be simulated.
        """
        return self._closed() if self.closed else self._simulated(tell)

    @property
    def closed(self) -> bool:
        """Whether all is known in closed form."""
        return self.own == 1 and no_closed_form(self.load) is None

    @property
    def jobs(self) -> float:
        """How many background jobs, or turns of the processor, one run has in the mean."""
        load = self.load
        seconds = load.factor(self.own) * (self.demand + 2 * self._lead_time)
        if self.begin == "steady" and not load.memoryless:
            seconds += load.warm_up
        turns = 0.0 if load.turns is None else load.cores * seconds / load.turns.quantum
        return sum(load.rates()) * seconds + turns

    @property
    def feasible(self) -> bool:
        """Whether one run is no more than can be simulated."""
        return self.jobs <= _LONGEST

    @property
    def planned_runs(self) -> int:
        """How many runs there are to be."""
        if self.runs is not None:
            return self.runs
        return int(min(_MOST_RUNS, max(_LEAST_RUNS, _MANY_JOBS / max(self.jobs, 1.0))))

    @property
    def seconds(self) -> float:
        """Some upper bound of how long they take; measured on one core of a server of 2023."""
        return 2e-4 * self.planned_runs + 1.2e-6 * self.planned_runs * self.jobs

    @property
    def idle(self) -> bool:
        """Whether no job is there when it begins."""
        return self.begin == "idle"

    def _closed(self) -> dict[str, Any]:
        core, demand = core_of(self.load), self.demand
        quantiles = core.quantiles(demand, LEVELS, idle=self.idle)
        answer: dict[str, Any] = {"factor": self.load.factor(), "method": "closed form"}
        if self.idle:
            answer |= self._integrated()
        else:
            answer["mean"] = demand * self.load.factor()
            answer["std"] = standard_deviation(self.load, demand)
        answer["quantiles"] = {str(q): value for q, value in zip(LEVELS, quantiles, strict=True)}
        if self.deadline is not None:
            at = np.array([self.deadline])
            answer["deadline"] = float(core.probability(demand, at, idle=self.idle)[0])
        return answer

    def _integrated(self) -> dict[str, float]:
        """Return mean and standard deviation from the distribution itself."""
        from scipy.integrate import simpson

        core, demand = core_of(self.load), self.demand
        last = core.quantile(demand, 1 - 1e-8, idle=True) - demand
        root = np.linspace(0, 1, 1001)
        beyond = last * root**2
        longer = 1 - core.probability(demand, demand + beyond, idle=True)
        mean = float(simpson(longer * 2 * last * root, root))
        second = float(simpson(2 * beyond * longer * 2 * last * root, root))
        return {"mean": demand + mean, "std": float(np.sqrt(max(0.0, second - mean**2)))}

    def _simulated(self, tell: Tell) -> dict[str, Any]:
        values, closed_form = self._runs(tell), self._closed_moments()
        method = f"{' and '.join(closed_form)} in closed form, the rest simulated"
        answer: dict[str, Any] = {
            "factor": self.load.factor(self.own),
            "method": method if closed_form else "simulated",
            "mean": float(values.mean()),
            "std": float(values.std(ddof=1)),
            "quantiles": {str(q): float(np.quantile(values, q)) for q in LEVELS},
            "runs": len(values),
            "standard_error": float(values.std(ddof=1) / np.sqrt(len(values))),
            **closed_form,
        }
        if self.deadline is not None:
            answer["deadline"] = float((values <= self.deadline).mean())
        return answer

    def _closed_moments(self) -> dict[str, float]:
        """Return what of mean and standard deviation has a closed form.

        In the midst of a long computation on one core the mean is that of the long run, whatever
        comes how: work is conserved.
        """
        load, closed_form = self.load, {}
        single_core, underway = load.cores == 1, self.begin == "underway"
        stationary = load.memoryless and load.scheduling == "ps" and not self.idle
        if stationary or (underway and single_core and load.turns is None):
            closed_form["mean"] = self.demand * load.factor(self.own)
        background_first = underway and load.memoryless and load.scheduling == "priority"
        if single_core and self.own == 1 and (stationary or background_first):
            closed_form["std"] = standard_deviation(load, self.demand)
        return closed_form

    def _runs(self, tell: Tell = silent) -> Any:
        if not self.feasible:
            raise UnsupportedError(
                f"a demand of {self.demand:g} s meets some {self.jobs:.2g} background jobs or "
                f"turns, and no more than {_LONGEST:.0e} are simulated; use a shorter demand"
            )
        before, runs = self._lead_time, self.planned_runs
        lead = self._replay(before) if before else None
        whole = self._replay(before + self.demand)

        def sample(numbers: Sequence[int]) -> list[float]:
            times = []
            for number in numbers:
                tell(f"simulating: {number:,} of {runs:,} runs")
                began = _end_time(lead, number) if lead else 0.0
                times.append(_end_time(whole, number) - began)
            return times

        return replicate(sample, tolerance=0.0, least=runs, most=runs).values

    def _replay(self, seconds: float) -> Replay:
        """Return runs of a computation of so long; those of a number are alike while they last."""
        builder = NetBuilder()
        builder.give(OUTSET, "outset")
        self._build_companions(builder)
        self._build_work(builder, "process", "outset", "end", seconds)
        background = self._background(builder)
        net_arrays = kernel_arrays(builder.net("node"), "plain", until=("end", 1))
        begin = Beginnings(net_arrays, background, self.own - 1)

        prepare = untouched if self.idle else begin.draw
        return Replay(net_arrays, prepare, self.seed, slots=begin.room() + 64)

    @property
    def _lead_time(self) -> float:
        """The CPU time after which a computation is in the midst of it; 0: it is from the first."""
        if self.begin != "underway":
            return 0.0
        if self.load.memoryless and self.load.scheduling == "ps":
            return 0.0
        return self.load.warm_up / self.load.factor(self.own)

    def _build_work(
        self, builder: NetBuilder, name: str, at: str, after: str, seconds: float
    ) -> int:
        """Build what the process computes between two places; return the moment it is done."""
        load, pre, post = self.load, {at: 1}, {after: 1}
        if load.turns is not None:
            cores = core_place(builder, 0, load)
            return build_turns(builder, name, pre, post, cores, load.turns, seconds)
        speed = process_speed(0, load, self.own - 1)
        return builder.transition(
            name, pre, post, delay=seconds, load=computing_load(0), speed=speed
        )

    def _build_companions(self, builder: NetBuilder) -> None:
        """Build the turns of the other processes, which never stop."""
        if self.load.turns is None:
            return
        for number in range(1, self.own):
            builder.place(f"other {number}", 1)
            self._build_work(
                builder, f"other {number}", f"other {number}", f"other {number}", 1e300
            )

    def _background(self, builder: NetBuilder) -> BackgroundNet:
        """Build the background jobs."""
        load, loads = self.load, {0: self.load}
        warm_up = build_warm_up(builder, [load]) if self.begin == "steady" else None
        if load.turns is None:
            initial_jobs = build_node(builder, 0, load, self.own - 1)
            return BackgroundNet(loads, tuple(initial_jobs), warm_up=warm_up)
        slots = build_slots(builder, 0, load)
        return BackgroundNet(loads, slots=tuple(slots), warm_up=warm_up)


def _end_time(replay: Replay, number: int) -> float:
    """Return when the run of a number ended."""
    replay.run(number)
    return float(replay.memory.f[k.CLOCK])
