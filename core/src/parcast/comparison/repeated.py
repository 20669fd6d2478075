"""Repetitions: what a recorded run repeats, and the time of as many as are asked about."""

from __future__ import annotations

import attrs

from parcast.model.query import Prediction
from parcast.model.workload import Repetitions


@attrs.frozen
class Repeated:
    """Repetitions that a recorded run has, and how many are asked about."""

    repetitions: Repetitions
    asked: float

    def of_run(self, prediction: Prediction) -> Prediction:
        """Return what those asked about take, by what a solver says of all that were recorded.

        They are one run to a solver; its time divided by their number is the mean of one.
        """
        if prediction.time is None:
            return prediction
        factor = self.asked / len(self.repetitions.seconds)

        def scaled(seconds: float | None) -> float | None:
            return None if seconds is None else factor * seconds

        return attrs.evolve(
            prediction,
            time=factor * prediction.time,
            parts=prediction.parts and prediction.parts * factor,
            lower=scaled(prediction.lower),
            upper=scaled(prediction.upper),
            std=scaled(prediction.std),
            ci=prediction.ci and (factor * prediction.ci[0], factor * prediction.ci[1]),
            quantiles={level: factor * value for level, value in prediction.quantiles.items()},
            notes=(f"the time of {self.repetitions.describe(self.asked)}", *prediction.notes),
        )
