"""The content of ``trace`` workloads: what every rank called and when."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast import Query, Workload
from parcast.errors import InvalidPointError, ParcastError
from parcast.files import ASSUMED_ALIKE
from parcast.model import Repetitions
from parcast_traces.describing import described
from parcast_traces.errors import MissingRanksError
from parcast_traces.trace.columns import Floats, Ints, Trace
from parcast_traces.trace.limits import OF_WORK, Limit, TooLongError

if TYPE_CHECKING:
    from parcast_traces.readers import Format, Wanted


@attrs.frozen(eq=False)
class Spells:
    """Stretches of the gaps before calls that are no computation."""

    event: Ints  #: before which event each is
    after: Floats  #: seconds of that gap that come before it
    seconds: Floats


@attrs.frozen(eq=False)
class Traced:
    """A trace; that of a program knows also what the query's machine adds to it."""

    trace: Trace = attrs.field(repr=False)
    added: Any = attrs.field(default=None, repr=False)  #: `Deltas.event`; None: it was recorded
    eager_limit: float = float("inf")
    starts: Any = attrs.field(default=None, repr=False)  #: events that end a warm-up
    io: Spells | None = attrs.field(default=None, repr=False)  #: at files
    fetching: Spells | None = attrs.field(default=None, repr=False)  #: of tasks of pools
    early_limit: float | None = None
    """A larger message flies once its receive is posted; None: as ``eager_limit``."""
    unshared: bool = False  #: messages share the machine's links, and in ``added`` they do not
    costs: Any = attrs.field(default=None, repr=False)  #: `parcast.model.Costs` of that machine

    @property
    def is_less(self) -> bool:
        """Whether ``added`` is less than what the machine adds, so that times are lower bounds."""
        return self.unshared or (self.costs is not None and self.costs.overhead_by == "message")

    def check(self, query: Query) -> None:
        """Refuse a number of processes that is not the trace's own.

        Raises
        ------
        InvalidPointError
            If it is not.
        """
        if query.p != self.trace.size:
            raise InvalidPointError(
                f"{self.trace.where}: recorded with {self.trace.size} processes, so it cannot be "
                f"solved at p={query.p}; give -p {self.trace.size}"
            )


def workload(trace: Trace, path: Path) -> Workload:
    """Return a trace as a workload; of one that repeats steps its times are of a step."""
    steps = trace.steps
    return Workload(
        name=path.stem,
        kind="trace",
        content=Traced(trace if steps is None else steps.trace),
        parameters={} if steps is None else {"steps": 1.0},
        repetitions=None if steps is None else Repetitions("step", tuple(steps.seconds.tolist())),
        summary=f"A recorded run of {trace.size} processes, {trace.count:,} events.",
        data=described(trace),
        where=str(path),
        processes=trace.size,
    )


@attrs.frozen(eq=False)
class Unfinished:
    """A run some of whose ranks are missing, or that is too long: it cannot be solved."""

    error: ParcastError

    @property
    def trace(self) -> Trace:
        """Refuse to be taken for a run.

        Raises
        ------
        ParcastError
            Always.
        """
        raise self.error

    def check(self, _: Query) -> None:
        """Refuse any number of processes.

        Raises
        ------
        ParcastError
            Always.
        """
        raise self.error


def read(path: Path) -> Workload:
    """Return the trace in a file as a workload to be solved.

    One without times that has more events than become a program, as which alone it is solved, is
    refused by all that solve it.
    """
    return _read(path, _solvable)


def read_whole(path: Path) -> Workload:
    """Return the trace in a file as a workload to be looked at, whatever its length."""
    return _read(path, lambda _: None)


def _solvable(file_format: Format) -> Limit | None:
    """Return how many events of a format can be solved."""
    return OF_WORK if file_format.work else None


def _read(path: Path, wanted: Wanted) -> Workload:
    from parcast_traces.readers import read_trace

    try:
        trace = read_trace(path, assume_alike=ASSUMED_ALIKE.get(), wanted=wanted)
        return workload(trace, path)
    except TooLongError as error:
        # nobody knows how many processes: it is refused once, whatever they are
        summary = "A run of more events than can be solved."
        return attrs.evolve(_unfinished(path, error, summary), processes=1)
    except MissingRanksError as error:
        summary = "Ranks of a recorded run, others of which are missing."
        about = {**error.about, "missing": str(error)}
        return attrs.evolve(_unfinished(path, error, summary), data=about)


def _unfinished(path: Path, error: ParcastError, summary: str) -> Workload:
    """Return what of a file is known beside the trace that it does not give."""
    return Workload(
        name=path.stem,
        kind="trace",
        content=Unfinished(error),
        summary=summary,
        where=str(path),
    )
