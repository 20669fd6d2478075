"""The same job drawn by random numbers, many runs at once: every step is a failure of each run."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_training.goodput.failing import FailingJob, Plan

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@attrs.frozen(eq=False, kw_only=True)
class Spans:
    """What many runs of the same length did."""

    useful: Floats  #: shares of the time
    waiting: Floats  #: shares of the time
    failures: Ints


def simulate_finish(
    job: FailingJob, plan: Plan, runs: int, generator: np.random.Generator
) -> tuple[Floats, Ints]:
    """Return the times until the plan is done, waiting for spares included, and failures before.

    Computing takes as long as the plan says: stragglers are none here.
    """
    times, failures = np.zeros(runs), np.zeros(runs, np.int64)
    running = np.arange(runs)
    clock, pool = np.zeros(runs), _Pool(job, runs, generator)
    todo = np.full(runs, plan.count)
    whole = plan.interval + job.checkpoint
    tail = plan.last + job.checkpoint if plan.last else 0.0
    restart = 0.0
    while running.size:
        gap = generator.exponential(job.mtbf, running.size)
        room = gap - restart
        done = np.minimum(np.floor(np.maximum(room, 0.0) / whole), todo).astype(np.int64)
        todo -= done
        finished = (todo == 0) & (room - done * whole >= tail)
        ends = clock + restart + done * whole + tail
        times[running[finished]] = ends[finished]
        failed = ~finished
        running, todo = running[failed], todo[failed]
        failures[running] += 1
        clock = pool.replaced(running, clock[failed] + gap[failed])
        restart = job.restart
    return times, failures


def simulate_span(
    job: FailingJob, interval: float, span: float, runs: int, generator: np.random.Generator
) -> Spans:
    """Return what endless runs do within a span; what no checkpoint holds is not done."""
    failures, waited = np.zeros(runs, np.int64), np.zeros(runs)
    running = np.arange(runs)
    clock, pool = np.zeros(runs), _Pool(job, runs, generator)
    whole = interval + job.checkpoint
    stretches: list[tuple[Ints, Floats, Ints]] = []
    restart = 0.0
    while running.size:
        fails = clock + generator.exponential(job.mtbf, running.size)
        begin = clock + restart
        room = np.minimum(fails, span) - begin
        stretches.append((running, begin, np.floor(np.maximum(room, 0.0) / whole).astype(np.int64)))
        failed = fails < span
        running, fails = running[failed], fails[failed]
        failures[running] += 1
        clock = pool.replaced(running, fails)
        waited[running] += np.minimum(clock, span) - fails
        running, clock = running[clock < span], clock[clock < span]
        restart = job.restart
    useful = _work(job, interval, span, stretches, runs, generator)
    return Spans(useful=useful / span, waiting=waited / span, failures=failures)


class _Pool:
    """When the spares of each run are there."""

    def __init__(self, job: FailingJob, runs: int, generator: np.random.Generator) -> None:
        self.repair, self.generator = job.repair, generator
        self.free = np.zeros((runs, (job.spares or 0) + 1))

    def replaced(self, runs: Ints, failed: Floats) -> Floats:
        """Return when runs whose node failed have another, which leaves the pool."""
        if self.repair is None or not runs.size:
            return failed
        self.free[runs, 0] = failed + self.repair.sample(self.generator, runs.size)
        first = self.free[runs].argmin(axis=1)
        ready: Floats = np.maximum(failed, self.free[runs, first])
        self.free[runs, first] = self.free[runs, 0]  # place 0 is of the next that fails
        return ready


def _work(
    job: FailingJob,
    interval: float,
    span: float,
    stretches: list[tuple[Ints, Floats, Ints]],
    runs: int,
    generator: np.random.Generator,
) -> Floats:
    """Return the seconds of full speed that all intervals of each run amount to."""
    run, begin, count = (np.concatenate(column) for column in zip(*stretches, strict=True))
    computed: Floats = interval * np.bincount(run, count, minlength=runs).astype(np.float64)
    if job.speed == 1:
        return computed
    first = np.repeat(np.cumsum(count) - count, count)
    number = np.arange(len(first)) - first
    run, start = np.repeat(run, count), np.repeat(begin, count)
    start = start + number * (interval + job.checkpoint)
    slow = _SlowTime(job, span, runs, generator)
    slowed = slow.until(run, start + interval) - slow.until(run, start)
    seconds = np.bincount(run, slowed, minlength=runs).astype(np.float64)
    return computed - seconds * (1 - 1 / job.slowdown)


class _SlowTime:
    """How long each run was slowed until any time: episodes of exponential lengths."""

    def __init__(
        self, job: FailingJob, span: float, runs: int, generator: np.random.Generator
    ) -> None:
        slow = job.slow_episode
        fast = slow * (1 - job.slow_share) / job.slow_share
        pairs = int(span / (slow + fast) + 8 * np.sqrt(span / (slow + fast)) + 8)
        lengths = generator.exponential(1.0, (runs, 2 * pairs))
        lengths[:, 0::2] *= slow
        lengths[:, 1::2] *= fast
        begins_fast = generator.random(runs) >= job.slow_share
        lengths[begins_fast, 0] = 0.0  # in a time without one: exponential, so anew
        ends = np.cumsum(lengths, axis=1)
        ends[:, -1] = np.maximum(ends[:, -1], span)
        lengths[:, 1::2] = 0.0
        self.width = float(ends.max()) + 1.0
        zero = np.zeros((runs, 1))
        offset = self.width * np.arange(runs)[:, None]
        self.times = (np.hstack([zero, ends]) + offset).ravel()
        self.slow = np.hstack([zero, np.cumsum(lengths, axis=1)]).ravel()

    def until(self, run: Ints, time: Floats) -> Floats:
        """Return how long these runs were slowed until these times."""
        slowed: Floats = np.interp(time + run * self.width, self.times, self.slow)
        return slowed
