"""Predictions from many runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parcast.model import Parts, Prediction, Query, Status
from parcast_petri.options import SampledOptions
from parcast_petri.solvers.replay import Runs

LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


def of_runs(
    query: Query, runs: Runs, notes: Sequence[str], details: Mapping[str, Any]
) -> Prediction:
    """Return the prediction of many runs."""
    options: SampledOptions = query.options or SampledOptions()
    replications, estimate = runs.replications, runs.replications.estimate
    details = {**details, "firings": runs.firings, "replications": estimate.count}
    if options.deadline is not None:
        details["deadline"] = {
            "seconds": options.deadline,
            "probability": float((replications.values <= options.deadline).mean()),
        }
    extra = () if options.quantile is None else (options.quantile,)
    levels = sorted({*LEVELS, *extra})
    status, message = Status.OK, ""
    if not estimate.converged:
        half = (estimate.ci[1] - estimate.ci[0]) / 2 / estimate.mean
        status = Status.NOT_CONVERGED
        message = (
            f"after {estimate.count} runs the interval is +-{half:.2%} of the mean; give a larger "
            "petri.most or petri.tolerance"
        )
    parts = Parts(*np.asarray(runs.spent).tolist())
    return Prediction(
        time=estimate.mean,
        parts=parts,
        std=estimate.std,
        ci=estimate.ci,
        quantiles=replications.quantiles(*levels),
        status=status,
        message=message,
        binding=parts.largest,
        notes=tuple(notes),
        details=details,
    )
