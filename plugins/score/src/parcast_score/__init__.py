"""The scoreboard: what predictions are worth, against measured data that they never saw."""

from __future__ import annotations

from collections.abc import Iterator
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


@hookimpl
def parcast_measurements() -> Iterator[Resource]:
    """Add the measured data that the project ships."""
    for name in _SHIPPED:
        yield Resource(name, files("parcast_score") / "datasets" / name)


@hookimpl
def parcast_predictors() -> Iterator[PredictorEntry]:
    """Add the plain rules that every other predictor should beat."""
    code = "parcast_score.baselines"
    yield PredictorEntry("last-value", f"{code}:last_value", "The time of the largest known size.")
    yield PredictorEntry("ideal", f"{code}:ideal", "Time as work over size, from the largest.")
    yield PredictorEntry("power-law", f"{code}:power_law", "Time over work as a power of size.")
    yield PredictorEntry(
        "work-line", f"{code}:work_line", "A fixed cost and a rate, shared by a group of series."
    )
    peer = "parcast_score.extra_p:predict"
    yield PredictorEntry("extra-p", peer, "Extra-P's model of a series.", needs="extrap")


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
