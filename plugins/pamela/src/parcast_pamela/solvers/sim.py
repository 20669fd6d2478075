"""``pamela.sim``: the time of a model by discrete events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs

from parcast.errors import ParcastError
from parcast.model import Prediction, Query, Status
from parcast_pamela.simulation.program import Simulation, unfold
from parcast_pamela.solvers import advice
from parcast_pamela.workload import linked_model, parameters_of

Arbitration = Literal["fifo", "lifo", "random"]


@attrs.frozen(kw_only=True)
class Options:
    """Whom a server takes next, and how sure the mean is to be where something is random."""

    arbitration: Arbitration = "fifo"
    tolerance: float = 0.01
    confidence: float = 0.95


class Sim:
    """Runs a model; where nothing is drawn one run says all."""

    cost = staticmethod(advice.of_events)
    assumptions = staticmethod(advice.of_sim)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the model cannot be run."""
        try:
            linked_model(query)
        except ParcastError as error:
            return str(error)
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
