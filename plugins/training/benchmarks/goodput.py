"""Compare the simulation of a job under failures with a plain loop over its intervals, in one run.

uv run python plugins/training/benchmarks/goodput.py [runs]
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import numpy as np

from parcast_training.goodput.failing import FailingJob, Plan
from parcast_training.goodput.intervals import exact
from parcast_training.goodput.renewal import time_to_finish
from parcast_training.goodput.simulation import simulate_finish

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from plain_goodput import plain_finish


def main() -> None:
    """Print CPU seconds of both, and what each finds."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    job = FailingJob(mtbf=50 * 3600.0, checkpoint=120.0, restart=300.0)
    plan = Plan.of(30 * 86400.0, exact(job))
    parts = [plan.interval] * plan.count + [plan.last]
    draw = random.Random(1)  # noqa: S311
    simulate_finish(job, plan, 10, np.random.default_rng(0))
    begin = time.process_time()
    times, _ = simulate_finish(job, plan, runs, np.random.default_rng(0))
    fast = time.process_time() - begin
    begin = time.process_time()
    plain = [
        plain_finish(draw, mtbf=job.mtbf, checkpoint=job.checkpoint, restart=job.restart,
                     parts=parts)[0]
        for _ in range(runs)
    ]  # fmt: skip
    slow = time.process_time() - begin
    means = [float(np.mean(values)) / 86400 for values in (times, plain)]
    print(f"{runs:,} months of work, {plan.count} checkpoints each: exact mean "
          f"{time_to_finish(job, plan).mean / 86400:.3f} d")  # fmt: skip
    print(f"vectorised {fast:.4f} s, mean {means[0]:.3f} d; plain {slow:.3f} s, mean "
          f"{means[1]:.3f} d: {slow / fast:.0f} times")  # fmt: skip


if __name__ == "__main__":
    main()
