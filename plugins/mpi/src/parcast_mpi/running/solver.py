"""``mpi.run``: a program run for real, its measured time an answer like any other."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import msgspec
import numpy as np

from parcast import Assumption, Prediction, Query, Unit, UnsupportedError, Whole
from parcast.errors import HostError
from parcast.model import IN_NETWORK, Answers, place
from parcast.program import Unrolled
from parcast_mpi import library
from parcast_mpi.host import Host, identity, load, ticks
from parcast_mpi.jobs import new_folder, new_job, run_python
from parcast_mpi.running.answer import MeasuredRun, collect, prediction
from parcast_mpi.running.plan import Plan, plan

#: Measured: seconds until MPI has started the ranks and they have ended.
_STARTING = 1.0

#: Jobs that run or wait, in the mean of the last minute, on an idle host.
_IDLE = 0.5

#: Seconds for which the host is watched before a run.
_WATCHED = 0.2

#: Part of the host's memory that messages of a run may fill.
_MOST_MEMORY = 0.25

#: Runs of this process: the same query has the same answer.
_MEASURED = Answers(1_000)

#: Held while ranks run: of two runs at once each would measure the other.
_ALONE = threading.Lock()


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    repetitions: Annotated[int, Whole(10)] = 10  #: whose median is the answer
    warmup: Annotated[int, Whole(1)] = 2  #: repetitions before these
    limit: Annotated[float, Unit("s", positive=True)] = 120.0  #: for all repetitions together
    directory: str = ""  #: where files are written and read; by default that of temporary files
    most_operations: Annotated[int, Whole(1)] = 2_000_000  #: of all ranks; more are refused
    #: of emulated applications; blocking: a process waits for each as it comes to it
    reads: Literal["non-blocking", "blocking"] = "non-blocking"


def cost(query: Query) -> float:
    """Return the seconds of all repetitions, if they compute at the machine's rate; no less."""
    rate = query.machine.processor.rate
    work = 0.0
    unrolled = query.workload.content.at(query)
    for block in unrolled.blocks:
        seconds = block.arguments.get("flops", 0) / rate if rate else 0.0
        seconds = seconds + block.arguments.get("seconds", 0)
        ranks = unrolled.size if block.ranks is None else len(block.ranks)
        work += float(np.sum(np.broadcast_to(seconds, ranks)))
    repeated = getattr(query.options, "repetitions", 10) + getattr(query.options, "warmup", 2)
    return _STARTING + repeated * work / min(query.p, os.cpu_count() or 1)


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what a measured time assumes."""
    jobs = os.getloadavg()[0]
    busy = f"its load is {jobs:.1f}" if jobs > _IDLE else ""
    yield Assumption("nothing else runs on this host", busy)
    if IN_NETWORK in (query.machine.network.collectives or ""):
        yield Assumption(
            "the host's MPI library does collectives by messages",
            "network.collectives names switches, which this host has not",
        )


class Run:
    """Measures programs on the host that the machine file was measured on."""

    cost = staticmethod(cost)
    assumptions = staticmethod(assumptions)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the program cannot be run here."""
        if (reason := _why_not_here(query)) is not None:
            return reason
        library.find()
        try:
            place(query)
        except UnsupportedError as error:
            return str(error)
        options: Options = query.options or Options()
        if options.directory and not Path(options.directory).is_dir():
            raise HostError(f"mpi.run.directory: there is no folder {options.directory}")
        disks = query.machine.storage.disks
        if query.d not in {1, disks}:
            return f"d={query.d}: a real run has the file system of its host; use -d {disks}"
        return None

    def solve(self, query: Query) -> Prediction:
        """Run the program, and return what it took."""
        options: Options = query.options or Options()
        unrolled: Unrolled = query.workload.content.at(query)
        if (count := unrolled.count()) > options.most_operations:
            raise UnsupportedError(
                f"{count:,} operations are more than mpi.run.most_operations="
                f"{options.most_operations:,}; choose a smaller p, or --set it to more"
            )
        run_plan = plan(unrolled, blocking=options.reads == "blocking")
        _check_memory(run_plan)
        key = _key(query, run_plan, options)
        with _ALONE:
            run = _MEASURED.once((key,), lambda: measure(run_plan, query.p, options))
        return prediction(run)


def _why_not_here(query: Query) -> str | None:
    """Return None, or why the machine file is of no host.

    Raises
    ------
    HostError
        If it was measured on another host.
    """
    name, host = query.machine.name, query.machine.part("host", Host)
    if host is None:
        return (
            f"machine {name!r} was not measured on this host; make a file that was, by "
            "parcast mpi measure -o this-machine.toml"
        )
    if host.id != identity():
        processor = f" ({host.processor})" if host.processor else ""
        raise HostError(
            f"machine {name!r} was measured on another host{processor}; measure this one, by "
            "parcast mpi measure -o this-machine.toml"
        )
    if getattr(query.workload.content, "offloads", False):
        return "a real run computes on processors, and this program on accelerators, too"
    return None


def _check_memory(plan: Plan) -> None:
    """Refuse what would fill the host's memory with messages."""
    need = plan.memory()
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > _MOST_MEMORY * have:
        raise UnsupportedError(
            f"the messages need {need / 1e9:.3g} GB of the {have / 1e9:.3g} GB of this host; "
            "choose a smaller problem"
        )


def _key(query: Query, plan: Plan, options: Options) -> str:
    """Return what tells this run from others; the machine's numbers play no part in it."""
    whole = [attrs.asdict(plan), attrs.asdict(options), query.p, query.seed]
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()


def measure(plan: Plan, size: int, options: Options) -> MeasuredRun:
    """Run a plan, and return its repetitions.

    Raises
    ------
    SolveError
        If a rank dies, or the ranks do not end in time.
    """
    mpi = library.find()
    with new_job() as job, new_folder(options.directory or None) as directory:
        job.tell(_instructions(plan, size, options, directory))
        watched, before = load(_WATCHED), ticks()
        answers = run_python(mpi, job, size, "parcast_mpi.running.worker", options.limit)
        after = ticks()
    during = after.since(before) if before and after else None
    return MeasuredRun(*collect(answers), str(mpi), watched, during)


def _instructions(plan: Plan, size: int, options: Options, directory: str) -> dict[str, Any]:
    return {
        "size": size,
        "ranks": [plan.of(rank) for rank in range(size)],
        "repetitions": options.repetitions,
        "warmup": options.warmup,
        "limit": options.limit,
        "directory": directory,
    }
