"""Comparison: inputs, the grid of points, settings, solving, rows and measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.comparison.grid import Scenario
    from parcast.comparison.inputs import MachineLike, WorkloadLike
    from parcast.comparison.lowering import lower
    from parcast.comparison.measurements import Measurement, read_measured, read_table
    from parcast.comparison.over import Over, parse_over, read_overs
    from parcast.comparison.recorded import is_recorded, measured_times, step_times
    from parcast.comparison.setting_values import set_values
    from parcast.comparison.settings import Settings, split_assignment
    from parcast.comparison.solving import resolve, solve_all
    from parcast.comparison.tasks import Outcome, Task, Tell, silent
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "MachineLike",
    "Measurement",
    "Outcome",
    "Over",
    "Scenario",
    "Settings",
    "Task",
    "Tell",
    "WorkloadLike",
    "is_recorded",
    "lower",
    "measured_times",
    "parse_over",
    "read_measured",
    "read_overs",
    "read_table",
    "resolve",
    "set_values",
    "silent",
    "solve_all",
    "split_assignment",
    "step_times",
]
