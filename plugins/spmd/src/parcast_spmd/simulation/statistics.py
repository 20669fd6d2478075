"""The referee's statistics: runs to the end, and steady state by batch means."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast import UnsupportedError
from parcast.model import CONSTANT, EXPONENTIAL
from parcast.quantities import Distribution, Estimate, generator, replicate
from parcast_spmd.models.demands import Demands
from parcast_spmd.models.phase_answer import Sampled
from parcast_spmd.mva.mva_kernels import Floats
from parcast_spmd.simulation.kernel import Runs, Stations

#: Bursts of runs that are simulated side by side: more take longer each, fewer start more often.
TOGETHER = 1 << 12
#: Batches that are kept, and those before them that are not.
KEPT, WARM = 32, 8
#: Correlation of neighboring batches that is taken for none; chance alone gives 0 +- 0.18.
UNCORRELATED = 0.2
#: Cycles of a job that never leaves.
FOREVER = 1 << 60


@attrs.frozen(kw_only=True)
class Simulated:
    """Means of simulated runs; seconds of one job and cycle, except ``estimate``."""

    estimate: Estimate  #: of the time to the end of a run, or of a cycle in steady state
    network: float
    disk: float
    crowd: float
    sampled: Sampled


def make_stations(phase: Demands, *, geometric: bool) -> Stations:
    """Return what the groups of a phase do.

    Parameters
    ----------
    phase
        Its options are those of a solver that samples.
    geometric
        Whether to simulate the paper's model: a geometric number of bursts, whose delay is one
        random time; else exactly n_io bursts, whose computations vary.

    Raises
    ------
    UnsupportedError
        If the number of bursts fits neither.
    """
    if geometric and phase.bursts < 1:
        raise UnsupportedError(
            f"a geometric number of bursts has a mean of 1 or more, not {phase.bursts:g}"
        )
    if not geometric and phase.bursts % 1:
        raise UnsupportedError(
            f"{phase.bursts:g} bursts in a cycle cannot be simulated; give a whole number"
        )
    uneven, jobs = phase.uneven, phase.groups
    if geometric:
        pace = np.full((jobs, 1), phase.delay)
    elif uneven is not None:
        pace = uneven.pace
    else:
        pace = np.full((jobs, phase.members), phase.compute)
    passage = phase.options.service or (CONSTANT if phase.constant else EXPONENTIAL)
    queued = phase.model != "sio"
    return Stations(
        pace=pace,
        shape=phase.distribution,
        constant=0.0 if geometric else phase.free,
        network=_of_mean(passage, phase.shared),
        storage=_of_mean(passage, phase.io if queued else 0.0),
        bursts=phase.bursts,
        geometric=geometric,
        disks=np.arange(jobs) // phase.sharing if phase.model == "clu" else np.zeros(jobs, int),
        nodes=np.full(jobs, -1) if uneven is None or geometric else uneven.nodes,
        cores=np.empty(0, dtype=int) if uneven is None or geometric else uneven.cores,
    )


def _of_mean(law: Distribution, mean: float) -> Distribution:
    return law.scaled(mean / law.mean) if mean else Distribution("const", (0.0,))


def simulate_to_the_end(phase: Demands, stations: Stations, cycles: int) -> Simulated:
    """Return the time until the last job has done its cycles, from independent runs.

    Runs are repeated until the 95 % interval is as narrow as the options ask, or they allow no
    more bursts. Small runs go in blocks, each of which has its own random numbers.
    """
    options, jobs = phase.options, stations.jobs
    size = jobs * stations.bursts * cycles
    _check_bursts(phase, 2 * size, "two runs")
    runs = max(1, int(min(TOGETHER, options.most / 2) / size))
    max_runs = int(options.most / (runs * size))
    totals: list[Floats] = []

    def sample(numbers: Sequence[int]) -> list[float]:
        for number in numbers:
            random = generator(phase.seed[0], number, "spmd", phase.seed[1])
            simulation = Runs(stations, random, cycles=cycles, runs=runs)
            simulation.to_the_end()
            totals.append(simulation.total)
        return [float(total[:, 0].mean()) for total in totals[-len(numbers) :]]

    estimate = replicate(
        sample, tolerance=options.tolerance, least=min(10, max_runs), most=max_runs
    ).estimate
    rows = np.concatenate(totals)
    network, disk, crowd = (rows[:, 1:].mean(axis=0) / (jobs * cycles)).tolist()
    sampled = Sampled(
        half=(estimate.ci[1] - estimate.ci[0]) / 2,
        std=float(rows[:, 0].std(ddof=1)),
        converged=estimate.converged,
        details={"runs": len(rows)},
    )
    return Simulated(estimate=estimate, network=network, disk=disk, crowd=crowd, sampled=sampled)


def _check_bursts(phase: Demands, least: float, subject: str) -> None:
    """Refuse to begin what has more bursts than the options allow."""
    if least > phase.options.most:
        raise UnsupportedError(
            f"{subject} of {phase.groups:,} synchronization groups would have about {least:,.0f} "
            f"bursts, and at most {phase.options.most:,} are allowed; allow more (option most) "
            "or ask a smaller p"
        )


def simulate_steady(phase: Demands, stations: Stations) -> Simulated:
    """Return the mean cycle in steady state, by batch means from one run.

    The first fifth of the run is left out. The run is doubled, with the batches, until the
    interval is narrow enough and neighboring batches are not correlated.
    """
    options, jobs = phase.options, stations.jobs
    number, interval = KEPT + WARM, max(2 * jobs, 100)
    _check_bursts(phase, number * interval * stations.bursts, "a first run")
    simulation = Runs(stations, generator(phase.seed[0], 0, "spmd", phase.seed[1]), cycles=FOREVER)
    marks = simulation.marks(number, interval)
    delay = phase.bursts * phase.delay
    while True:
        spent = np.diff(marks[WARM - 1 :, 1:], axis=0) / interval
        values = delay + spent.sum(axis=1)
        estimate = Estimate.of(values)
        half = (estimate.ci[1] - estimate.ci[0]) / 2
        narrow = half <= options.tolerance * estimate.mean
        converged = bool(narrow and correlation(values) <= UNCORRELATED)
        if converged or 2 * number * interval * stations.bursts > options.most:
            break
        marks = np.concatenate([marks, simulation.marks(number, interval)])[1::2]
        interval *= 2
    network, disk, crowd = spent.mean(axis=0).tolist()
    sampled = Sampled(
        half=half,
        std=None,
        converged=converged,
        details={"batches": KEPT, "cycles": KEPT * interval},
    )
    return Simulated(estimate=estimate, network=network, disk=disk, crowd=crowd, sampled=sampled)


def correlation(values: Floats) -> float:
    """Return the correlation of each value with the next; 0 where they are all alike."""
    beyond = values - values.mean()
    whole = float(beyond @ beyond)
    return float(beyond[1:] @ beyond[:-1]) / whole if whole > 0 else 0.0
