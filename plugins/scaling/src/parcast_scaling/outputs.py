"""What runs of well-known codes print: their time, and on how many processes."""

from __future__ import annotations

import math
import re

import attrs

from parcast.errors import FileError
from parcast_scaling.times import Run, checked

#: Names of files that may be what a run printed.
OUTPUT = re.compile(r".*\.(?:out|log|txt|lammps|o\d+)(?:\.\d+)?", re.IGNORECASE)

#: Numbers as they are printed, whole: a count, and seconds or a rate.
_COUNT, _NUMBER = r"(\d{1,15})(?!\d)", r"(\d{1,15}(?:\.\d*)?)(?![\d.eE])"

_CLOCK = rf"(?:{_COUNT}h)? *(?:{_COUNT}m)? *(?:{_NUMBER}s)?"


@attrs.frozen(kw_only=True)
class Code:
    """How the output of a code states what is needed, the last time that it does.

    One output may be of several programs, such as the one that decomposes a mesh before the solver.
    """

    name: str
    known_by: str  #: what only its outputs have
    processes: str  #: of several numbers, the product
    threads: str | None = None  #: of each process, where they are stated
    seconds: str = ""
    summed: bool = False  #: whether all times are meant, not the last
    rate: str = ""  #: where the run ends early or late, and a rate is what it reports
    unit: str = ""
    unit_seconds: float = 1.0
    work: str | None = None  #: numbers whose product is the work
    what: str  #: of which the time is, in the code's own words


CODES = (
    Code(
        name="LAMMPS",
        known_by=r"Loop time of [\d.]+ on \d+ procs",
        processes=rf"Loop time of [\d.]+ on {_COUNT} procs",
        seconds=rf"Loop time of {_NUMBER} on",
        work=rf"Loop time of [\d.]+ on \d+ procs for {_COUNT} steps with {_COUNT} atoms",
        what="Loop time",
    ),
    Code(
        name="GROMACS",
        known_by=r"Performance: +[\d.]+ +[\d.]+(?s:.*)Finished mdrun|GROMACS(?s:.*)Performance: ",
        processes=rf"Using {_COUNT} MPI (?:process|thread)",
        threads=rf"Using {_COUNT} OpenMP threads? per",
        rate=rf"Performance: +{_NUMBER}",
        unit="ns",
        unit_seconds=86400.0,
        what="ns/day",
    ),
    Code(
        name="OpenFOAM",
        known_by=r"ExecutionTime = [\d.]+ s",
        processes=rf"nProcs *: *{_COUNT}",
        seconds=rf"ExecutionTime = {_NUMBER} s",
        what="ExecutionTime",
    ),
    Code(
        name="Quantum ESPRESSO",
        known_by=r"PWSCF +:.*WALL",
        processes=rf"running on +{_COUNT} processor",
        threads=rf"Threads/MPI process: +{_COUNT}",
        seconds=rf"PWSCF +:.*CPU *{_CLOCK} *WALL",
        what="PWSCF WALL",
    ),
    Code(
        name="VASP",
        known_by=r"General timing and accounting(?s:.*)Elapsed time \(sec\):",
        processes=rf"running on +{_COUNT} (?:total cores|mpi-ranks|nodes)",
        threads=rf"mpi-ranks, with +{_COUNT} threads",
        seconds=rf"Elapsed time \(sec\): +{_NUMBER}",
        what="Elapsed time",
    ),
    Code(
        name="NAMD",
        known_by=r"Benchmark time: \d+ CPUs [\d.]+ s/step",
        processes=rf"Benchmark time: {_COUNT} CPUs",
        seconds=rf"Benchmark time: \d+ CPUs {_NUMBER} s/step",
        what="Benchmark time of a step",
    ),
    Code(
        name="WRF",
        known_by=r"Timing for main: time \S+ on domain",
        processes=rf"(?i)ntasks in X +{_COUNT} *, *ntasks in Y +{_COUNT}",
        seconds=rf"Timing for main: time \S+ on domain +1: +{_NUMBER} elapsed",
        summed=True,
        what="Timing for main, of all steps of domain 1 together",
    ),
    Code(
        name="CP2K",
        known_by=r"GLOBAL\| Total number of message passing processes",
        processes=rf"GLOBAL\| Total number of message passing processes +{_COUNT}",
        threads=rf"GLOBAL\| Number of threads for this process +{_COUNT}",
        seconds=rf"(?m)^ CP2K +1 +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +{_NUMBER}",
        what="CP2K, the total of its longest process",
    ),
    Code(
        name="NPB",
        known_by=r"Benchmark Completed(?s:.*)Time in seconds",
        processes=rf"(?:Total processes|Total threads|Active processes) *= *{_COUNT}",
        seconds=rf"Time in seconds *= *{_NUMBER}",
        what="Time in seconds",
    ),
)


@attrs.frozen(kw_only=True)
class Printed:
    """A run that an output is of."""

    code: Code
    run: Run
    threads: bool  #: whether p counts threads

    @property
    def remark(self) -> str:
        """What its time is."""
        counts = "p counts processes times threads" if self.threads else "p counts processes"
        return f"times are what {self.code.name} prints as {self.code.what}; {counts}"


def read_output(text: str, where: str) -> Printed | None:
    """Return the run that a text is the output of; None where no known code printed it.

    Raises
    ------
    FileError
        If it states no processes, or no time, or none above 0.
    """
    code = next((code for code in CODES if re.search(code.known_by, text)), None)
    if code is None:
        return None
    processes = re.findall(code.processes, text)
    times = re.findall(code.rate or code.seconds, text)
    missing = "a time" if processes else "how many processes it ran on"
    if not processes or not times:
        raise FileError(
            f"{where}: an output of {code.name} that does not say {missing}; write p and time into "
            "a table"
        )
    threads = re.search(code.threads, text) if code.threads else None
    number = int(threads[1]) if threads else 1
    value = sum(map(_seconds, times)) if code.summed else _seconds(times[-1])
    if not value > 0:
        raise FileError(f"{where}: {code.name} prints a time of 0 there; leave it out")
    work = re.findall(code.work, text) if code.work else []
    n = float(int(work[-1][0]) * int(work[-1][1])) if work else 1.0
    seconds = code.unit_seconds / value if code.rate else value
    last = (processes[-1],) if isinstance(processes[-1], str) else processes[-1]
    run = Run(float(math.prod(map(int, last)) * number), seconds, n, where)
    return Printed(code=code, run=checked(run), threads=number > 1)


def _seconds(duration: str | tuple[str, ...]) -> float:
    """Return seconds of a number, or of hours, minutes and seconds."""
    if isinstance(duration, str):
        return float(duration)
    hours, minutes, seconds = (float(part or 0) for part in duration)
    return 3600 * hours + 60 * minutes + seconds
