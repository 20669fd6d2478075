"""The scoreboard: what predictions are worth, against measured data that they never saw."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from parcast import PredictorEntry, Resource, hookimpl

if TYPE_CHECKING:
    import typer

    from parcast.model import ErrorRecord

_SHIPPED = (
    "clouds", "gemund-t800", "mlperf-storage", "mlperf-training", "sailor", "selene", "smpi",
    "smpi-growth", "straggler-job", "two-cores", "uysal-lc-sim", "uysal-sp2",
)  # fmt: skip


parcast_measurements = tuple(
    Resource(name, files(__name__) / "datasets" / name) for name in _SHIPPED
)

#: Plain rules that every other predictor should beat, and a peer.
parcast_predictors = (
    PredictorEntry(
        "last-value", "parcast_score.baselines:last_value", "The time of the largest known size."
    ),
    PredictorEntry(
        "ideal", "parcast_score.baselines:ideal", "Time as work over size, from the largest."
    ),
    PredictorEntry(
        "power-law", "parcast_score.baselines:power_law", "Time over work as a power of size."
    ),
    PredictorEntry(
        "work-line",
        "parcast_score.baselines:work_line",
        "A fixed cost and a rate, shared by a group of series.",
    ),
    PredictorEntry(
        "extra-p",
        "parcast_score.extra_p:predict",
        "Extra-P's model of a series.",
        needs="extrap",
    ),
)


@hookimpl
def parcast_usual_error(solver: str, distance: float | None) -> ErrorRecord | None:
    """Say how far a solver was off on the scoreboard; the record is read when first asked."""
    from parcast_score.shipped import usual_error

    return usual_error(solver, distance)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast score``."""
    from parcast_score.commands import score

    app.add_typer(score, name="score")
