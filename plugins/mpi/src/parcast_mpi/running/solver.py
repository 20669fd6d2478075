"""``mpi.run``: a program run for real, its measured time an answer like any other."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import msgspec

from parcast import Prediction, Query, Unit, UnsupportedError, Whole
from parcast.errors import HostError
from parcast.model import place
from parcast.program import Unrolled
from parcast_mpi import library
from parcast_mpi.host import Host, identity, load, ticks
from parcast_mpi.jobs import new_folder, new_job, run_python
from parcast_mpi.running import advice
from parcast_mpi.running.answer import Measured, gathered, prediction
from parcast_mpi.running.plan import Plan, plan

#: Seconds for which the host is watched before a run.
_WATCHED = 0.2

#: Part of the host's memory that messages of a run may fill.
_MOST_MEMORY = 0.25

#: Runs of this process: the same query has the same answer.
_measured: dict[str, Measured] = {}

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


class Run:
    """Measures programs on the host that the machine file was measured on."""

    cost = staticmethod(advice.cost)
    assumptions = staticmethod(advice.assumptions)

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
        if query.d != 1:
            return f"d={query.d}: a real run has the one file system of its host; ask -d 1"
        return None

    def solve(self, query: Query) -> Prediction:
        """Run the program, and return what it took."""
        options: Options = query.options or Options()
        unrolled: Unrolled = query.workload.content.at(query)
        if (count := unrolled.count()) > options.most_operations:
            raise UnsupportedError(
                f"{count:,} operations are more than are run unasked; ask a smaller p, or --set "
                "mpi.run.most_operations to more"
            )
        made = plan(unrolled, blocking=options.reads == "blocking")
        _check_memory(made)
        key = _key(query, made, options)
        with _ALONE:
            if key not in _measured:
                _measured[key] = measure(made, query.p, options)
        return prediction(_measured[key])


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
        other = f" ({host.processor})" if host.processor else ""
        raise HostError(
            f"machine {name!r} was measured on another host{other}; measure this one, by "
            "parcast mpi measure -o this-machine.toml"
        )
    return None


def _check_memory(made: Plan) -> None:
    """Refuse what would fill the host's memory with messages."""
    need = made.memory()
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > _MOST_MEMORY * have:
        raise UnsupportedError(
            f"the messages need {need / 1e9:.3g} GB of the {have / 1e9:.3g} GB of this host; ask "
            "a smaller problem"
        )


def _key(query: Query, made: Plan, options: Options) -> str:
    """Return what tells this run from others; the machine's numbers play no part in it."""
    whole = [attrs.asdict(made), attrs.asdict(options), query.p, query.seed]
    return hashlib.sha256(msgspec.json.encode(whole)).hexdigest()


def measure(made: Plan, size: int, options: Options) -> Measured:
    """Run a plan, and return its repetitions.

    Raises
    ------
    SolveError
        If a rank dies, or the ranks do not end in time.
    """
    here = library.find()
    with new_job() as job, new_folder(options.directory or None) as directory:
        job.tell(_told(made, size, options, directory))
        watched, before = load(_WATCHED), ticks()
        answers = run_python(here, job, size, "parcast_mpi.running.worker", options.limit)
        after = ticks()
    during = after.since(before) if before and after else None
    return Measured(*gathered(answers), str(here), watched, during)


def _told(made: Plan, size: int, options: Options, directory: str) -> dict[str, Any]:
    return {
        "size": size,
        "ranks": [made.of(rank) for rank in range(size)],
        "repetitions": options.repetitions,
        "warmup": options.warmup,
        "limit": options.limit,
        "directory": directory,
    }
