"""``parcast petri slowdown``: how long a demand takes on one loaded node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.replications import replicate
from parcast_petri.arrays import arrays
from parcast_petri.load import Load, Turns
from parcast_petri.programs.nodes import draw_node, own, own_speed
from parcast_petri.programs.others import Others
from parcast_petri.programs.round_robin import core, draw_slots, draw_turns
from parcast_petri.programs.sketch import Sketch
from parcast_petri.replay import Beginnings, Replay, untouched
from parcast_petri.sampled import core_of, unsolved
from parcast_petri.theory.spread import standard_deviation

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@attrs.frozen(kw_only=True)
class Slowdown:
    """The time of one demand beside background jobs and other processes that never stop."""

    load: Load
    demand: float
    own: int = 1  #: processes of the program on the node, this one included
    idle: bool = False  #: no job is there when it begins; else the node is in its steady state
    deadline: float | None = None
    seed: int = 0
    runs: int = 20_000

    def answer(self) -> dict[str, Any]:
        """Return factor, mean, std, quantiles and how each was found."""
        closed = self.own == 1 and unsolved(self.load) is None
        return self._closed() if closed else self._simulated()

    def _closed(self) -> dict[str, Any]:
        core, demand = core_of(self.load), self.demand
        quantiles = {q: core.quantile(demand, q, idle=self.idle) for q in LEVELS}
        found: dict[str, Any] = {"factor": self.load.factor(), "method": "closed form"}
        if self.idle:
            found |= self._integrated()
        else:
            found["mean"] = demand * self.load.factor()
            found["std"] = standard_deviation(self.load, demand)
        found["quantiles"] = {str(q): value for q, value in quantiles.items()}
        if self.deadline is not None:
            at = np.array([self.deadline])
            found["deadline"] = float(core.probability(demand, at, idle=self.idle)[0])
        return found

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

    def _simulated(self) -> dict[str, Any]:
        values = self._runs()
        steady = not self.idle and self.load.arrivals.law == "exp" and self.load.scheduling == "ps"
        found: dict[str, Any] = {
            "factor": self.load.factor(self.own),
            "method": "the mean in closed form, the rest simulated" if steady else "simulated",
            "mean": self.demand * self.load.factor(self.own) if steady else float(values.mean()),
            "std": float(values.std(ddof=1)),
            "quantiles": {str(q): float(np.quantile(values, q)) for q in LEVELS},
            "runs": len(values),
            "standard_error": float(values.std(ddof=1) / np.sqrt(len(values))),
        }
        if steady and self.own == 1 and self.load.cores == 1:
            found["std"] = standard_deviation(self.load, self.demand)
            found["method"] = "mean and std in closed form, the rest simulated"
        if self.deadline is not None:
            found["deadline"] = float((values <= self.deadline).mean())
        return found

    def _runs(self) -> Any:
        sketch, load = Sketch(), self.load
        sketch.place("begin", 1)
        if load.turns is not None:
            moment, others = self._in_turns(sketch, load.turns)
        else:
            speed = own_speed(0, load, self.own - 1)
            moment = sketch.transition(
                "work", {"begin": 1}, {"end": 1}, delay=self.demand, load=own(0), speed=speed
            )
            others = Others({0: load}, tuple(draw_node(sketch, 0, load, 4096, self.own - 1)))
        made = arrays(sketch.net("node"), "compiled", until=("end", 1))
        begin = Beginnings(made, others, self.own - 1)
        prepare = untouched if self.idle else begin.draw
        replay = Replay(made, prepare, self.seed, slots=begin.room() + 64)

        def sample(numbers: Sequence[int]) -> list[float]:
            return [replay.times(number)[moment] for number in numbers]

        return replicate(sample, tolerance=0.0, least=self.runs, most=self.runs).values

    def _in_turns(self, sketch: Sketch, turns: Turns) -> tuple[int, Others]:
        """Draw the process, others that never stop, and background jobs in turns."""
        cores = core(sketch, 0, self.load)
        for number in range(1, self.own):
            never = {f"other {number}": 1}
            sketch.place(f"other {number}", 1)
            draw_turns(sketch, f"other {number}", never, never, cores, turns, 1e300)
        moment = draw_turns(sketch, "process", {"begin": 1}, {"end": 1}, cores, turns, self.demand)
        slots = draw_slots(sketch, 0, self.load)
        return moment, Others({0: self.load}, slots=tuple(slots))
