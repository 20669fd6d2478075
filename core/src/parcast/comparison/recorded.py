"""Measured times out of recorded runs: of the steps that they repeat."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from parcast.comparison import inputs
from parcast.comparison.measurements import Measurement, Measurements, read_measured
from parcast.errors import FileError
from parcast.files import assuming_alike

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


def measured_times(
    registry: Catalog, source: Any, *, speedups: bool = False, repetitions: bool = False
) -> Measurements:
    """Return the times of what `read_measured` takes, or of a recorded run whose steps repeat.

    A recorded run gives the mean of its steps, or with ``repetitions`` each as a run of its own.

    Raises
    ------
    FileError
        As `read_measured` does, or if a recorded run has no steps.
    """
    if not is_recorded(registry, source):
        return read_measured(source, speedups=speedups, repetitions=repetitions)
    steps = step_times(registry, source)
    if steps is None:
        raise FileError(
            f"{source} has no steps that repeat, so it is no table of measured times; give one "
            "with the columns p and time"
        )
    if repetitions:
        return steps
    mean = fmean(item.value for item in steps.items)
    item = Measurement(mean, {"p": steps.items[0].at["p"]}, steps.where)
    return Measurements(steps.where, ("p",), (item,))


def step_times(registry: Catalog, source: str | Path) -> Measurements | None:
    """Return the times of the steps that a recorded run repeats; None if it has none.

    They are of the ranks that have a file, whatever the others did.
    """
    workload = inputs.workload(registry, source)
    if workload.processes is None:  # ranks have no file
        with assuming_alike():
            workload = inputs.workload(registry, source)
    steps = workload.repetitions
    if steps is None:
        return None
    items = tuple(
        Measurement(seconds, {"p": workload.processes, "run": run}, f"{source}, {steps.name} {run}")
        for run, seconds in enumerate(steps.seconds, 1)
    )
    return Measurements(str(source), ("p", "run"), items)


def is_recorded(registry: Catalog, source: Any) -> bool:
    """Tell whether a file begins as a recorded run does."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return False
    try:
        reader = inputs.reader_by_mark(registry, Path(source))
    except OSError:
        return False  # what is wrong is told where the table is read
    return reader is not None and reader.alike
