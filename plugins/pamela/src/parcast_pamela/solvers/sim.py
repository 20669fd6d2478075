"""``pamela.sim``: the time of a model by discrete events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import attrs

from parcast import Assumption
from parcast.errors import ParcastError
from parcast.model import Prediction, Query, Status
from parcast_pamela.simulation.program import Simulation, unfold
from parcast_pamela.solvers.preparation import refusal, waits_assumption
from parcast_pamela.workload import linked_model, parameters_of

#: Seconds for a model, and for each of its events, most of them to unfold it: on one core, by
#: ``core/benchmarks/costs.py``.
_MODEL, _EVENT = 3e-4, 3e-6

Arbitration = Literal["fifo", "lifo", "random"]


@attrs.frozen(kw_only=True)
class Options:
    """Whom a server takes next, and how sure the mean is to be where something is random."""

    arbitration: Arbitration = "fifo"
    tolerance: float = 0.01
    confidence: float = 0.95


class Sim:
    """Runs a model; where nothing is drawn one run says all."""

    supports = staticmethod(refusal)

    def assumptions(self, query: Query) -> Iterator[Assumption]:
        """Yield what a run takes for granted."""
        yield from waits_assumption(query)
        yield Assumption("servers are first come, first served (option arbitration)")

    def cost(self, query: Query) -> float | None:
        """Return the seconds that a run takes; None where the model is too large to be run."""
        model = linked_model(query)
        try:
            return _MODEL + _EVENT * unfold(model, parameters_of(model, query)).events
        except ParcastError:
            return None

    def solve(self, query: Query) -> Prediction:
        """Return the makespan, the mean with its confidence where it is random.

        Raises
        ------
        UnsupportedError
            If the model has too many events.
        """
        model = linked_model(query)
        options: Options = query.options or Options()
        simulation = unfold(model, parameters_of(model, query))
        return simulation_prediction(simulation, options, query.seed)


def simulation_prediction(simulation: Simulation, options: Options, seed: int) -> Prediction:
    """Return the makespan of a simulation as a prediction."""
    from parcast.quantities import replicate
    from parcast_pamela.simulation.running import run

    first = run(simulation, options.arbitration, seed)
    details: dict[str, Any] = {"events": simulation.events, "busy": dict(first.busy)}
    notes = [f"servers take {_WORDS[options.arbitration]}"]
    if not simulation.random and options.arbitration != "random":
        return Prediction(time=first.time, details=details, notes=tuple(notes))

    def sample(numbers: Sequence[int]) -> list[float]:
        return [run(simulation, options.arbitration, seed, number).time for number in numbers]

    replications = replicate(sample, tolerance=options.tolerance, confidence=options.confidence)
    estimate = replications.estimate
    details["replications"] = estimate.count
    return Prediction(
        time=estimate.mean,
        std=estimate.std,
        ci=estimate.ci,
        quantiles=replications.quantiles(0.05, 0.5, 0.95),
        status=Status.OK if estimate.converged else Status.NOT_CONVERGED,
        message="" if estimate.converged else "the confidence interval is still too wide",
        details=details,
        notes=tuple(notes),
    )


_WORDS = {
    "fifo": "who came first; of those who came at one instant, in the order of the model",
    "lifo": "who came last",
    "random": "one at random of those who wait",
}
