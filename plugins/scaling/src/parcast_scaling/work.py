"""The work of runs, and of the sizes that are predicted: as it is, or growing as p."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast_scaling.mechanisms import Floats
from parcast_scaling.reading import Times
from parcast_scaling.times import Run


@attrs.frozen
class Work:
    """The work at p where it is predicted: as large as the largest measured, or growing as p."""

    n: float
    per_process: float | None = None

    def __call__(self, p: Floats) -> Floats:
        """Return it, relative."""
        return self.per_process * p if self.per_process is not None else np.full_like(p, self.n)


def with_work(times: Times, *, weak: bool) -> tuple[Times, Work]:
    """Return the runs with their work, and the work of sizes that are predicted."""
    if times.varies:
        last = max(times.runs, key=lambda run: (run.p, run.n))
        if not (weak or _grows(times.runs)):
            remark = f"predicted for the work n = {last.n:g} of the largest measured p"
            return attrs.evolve(times, remarks=(remark, *times.remarks)), Work(last.n)
        per_process = last.n / last.p
        remark = f"predicted for a work that grows as p: n = {per_process:g} p"
        return attrs.evolve(times, remarks=(remark, *times.remarks)), Work(last.n, per_process)
    if times.of_unit:
        unit = f"1 {times.of_unit}" + (" for each p" if weak else "")
        times = attrs.evolve(
            times, remarks=(f"rates were measured: times are those of {unit}", *times.remarks)
        )
    if not weak:
        return times, Work(1.0)
    runs = tuple(
        attrs.evolve(run, n=run.p, seconds=run.seconds * (run.p if times.of_unit else 1.0))
        for run in times.runs
    )
    return attrs.evolve(times, runs=runs), Work(1.0, 1.0)


def _grows(runs: Sequence[Run]) -> bool:
    """Tell whether the work grows as p in all runs."""
    per_process = [run.n / run.p for run in runs]
    alike = max(per_process) <= (1 + 1e-9) * min(per_process)
    return len({run.p for run in runs}) > 1 and alike
