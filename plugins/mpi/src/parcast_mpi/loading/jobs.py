"""The jobs of a background load: when each comes, and how much of a core it takes."""

from __future__ import annotations

import math
from pathlib import Path

import attrs

from parcast.errors import FileError, ParcastError
from parcast.quantities import Distribution, generator


@attrs.frozen
class Job:
    """One background job."""

    arrival: float  #: seconds after the beginning
    demand: float  #: seconds of a core


def read_jobs(text: str, where: str) -> list[Job]:
    """Return the jobs of a text with two numbers a line: seconds of arrival and of a core.

    Raises
    ------
    FileError
        If a line says something else; the line is named.
    """
    jobs = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            arrival, demand = map(float, line.split())
        except ValueError:
            arrival, demand = math.nan, math.nan
        if not (0 <= arrival < math.inf and 0 <= demand < math.inf):
            raise FileError(
                f"{where}:{number}: {line.strip()!r} must be two numbers, 0 or more: seconds of "
                "arrival and of a core"
            )
        jobs.append(Job(arrival, demand))
    if not jobs:
        raise FileError(f"{where} has no jobs; give a line for each")
    return sorted(jobs, key=lambda job: job.arrival)


def read_file(path: Path) -> list[Job]:
    """Return the jobs of a file (see `read_jobs`)."""
    try:
        return read_jobs(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}") from None


def random_jobs(demand: Distribution, utilization: float, seconds: float, seed: int) -> list[Job]:
    """Return jobs that come at random, as Poisson's do, for so many seconds.

    Raises
    ------
    ParcastError
        If they leave others nothing of the core, or never come.
    """
    if not 0 < utilization < 1:
        raise ParcastError(f"--utilization {utilization:g} must be above 0 and below 1")
    if not demand.mean > 0 or not 0 < seconds < math.inf:
        raise ParcastError("--demand and --seconds must be above 0")
    draw = generator(seed, 0)
    count = int(draw.poisson(seconds * utilization / demand.mean))
    arrivals = sorted((seconds * draw.random(count)).tolist())
    demands = demand.sample(draw, count).tolist()
    return [Job(*pair) for pair in zip(arrivals, demands, strict=True)]
