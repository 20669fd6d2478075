"""What all solvers are asked: a trace, and by what the query's machine changes its run.

A program or a trace of work has run without a network, which the machine then adds. A recorded
run has run on another machine, and what is added is by what the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
import numpy as np

from parcast import Assumption, Prediction, Query, UnsupportedError
from parcast.errors import ParcastError
from parcast.model import Count, Machine
from parcast.quantities import Estimate
from parcast_perturb.forecast import LEVELS
from parcast_perturb.from_program import of_work, without_network
from parcast_perturb.machine_change import machine_change
from parcast_perturb.machine_costs import noise_of
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import Delays, propagate
from parcast_perturb.span import makespans
from parcast_traces.trace.columns import END, Floats, Trace
from parcast_traces.workload import Traced

_UNSHARED = (
    "messages of a message graph share nothing, as if each had its links alone: the time is a "
    "lower bound, too low by what they wait for each other; perturb.simulated plays them"
)

_BY_MESSAGE = (
    "of several messages that a wait takes, a message graph charges the last one alone after its "
    "arrival: the time is a lower bound; perturb.simulated takes them one after another"
)


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    recorded_on: Machine | None = None  #: the machine that a recorded trace ran on
    replications: Count = 100  #: how often noise is drawn, on machines that have it


def common_assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what propagation assumes under any policy."""
    yield Assumption("messages are matched as they were, whatever comes sooner or later")
    yield Assumption("nothing queues: messages and accesses are as fast together as alone")
    if "noise" in query.machine.parts:
        yield Assumption("noise is drawn for each call and gap by itself")


def clock_assumption(query: Query, consequence: str) -> Assumption:
    """Return the assumption of a bound, which a comparison of clocks makes unnecessary."""
    content: Traced = query.workload.content
    one_clock = content.added is not None or content.trace.comparable
    return Assumption(
        f"times of different ranks cannot be compared, so that {consequence}",
        "all clocks are one, and perturb.clocked is exact" if one_clock else "",
    )


def refusal(query: Query, check: Callable[[Query], None] = lambda _query: None) -> str | None:
    """Return None, or why a trace cannot be moved to the query's machine, or is refused here."""
    try:
        query.workload.content.check(query)
        at_machine = timed(query)
        check(at_machine)
        question_of(at_machine)
    except ParcastError as error:
        return str(error)
    return None


def check_graph(query: Query) -> None:
    """Refuse programs of which a message graph gives not even a bound.

    Raises
    ------
    UnsupportedError
        If the time is from the end of a warm-up on, which would have to be no bound.
    """
    content: Traced = query.workload.content
    if content.is_less and content.starts is not None and len(content.starts):
        raise UnsupportedError(
            f"machine {query.machine.name!r} has {shortfall(content)}, which a message graph has "
            "not, and from the program's start() on there is no bound then; ask perturb.simulated"
        )


def shortfall(content: Traced) -> str:
    """Return what of its machine a message graph leaves out."""
    if content.unshared:
        return f"contention {content.costs.contention!r}"
    return "network.overhead_by = 'message'"


@attrs.frozen(eq=False, kw_only=True)
class Question:
    """A trace, what the query's machine adds, and what is known of the trace's own machine."""

    content: Traced
    change: Perturbation
    recorded: Recorded
    noisy: bool  #: the machine has noise, which is drawn
    modeled: bool  #: what calls cost is known
    replications: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def trace(self) -> Trace:
        """What ran."""
        return self.content.trace

    @property
    def has_warm_up(self) -> bool:
        """Whether the time counts from the end of a warm-up."""
        return self.content.starts is not None and len(self.content.starts) > 0

    @property
    def itemized(self) -> bool:
        """Whether it is known what calls cost, so that the time has parts."""
        return self.modeled and not self.noisy

    def propagate(self, policy: str, *, every_end: bool = False) -> Delays:
        """Return the delays under a policy."""
        return propagate(
            self.trace, self.change, self.recorded, policy,
            replications=self.replications, seed=self.seed,
            every_end=every_end or self.has_warm_up,
        )  # fmt: skip

    def prediction(self, delays: Delays, warm_up: Delays) -> Prediction:
        """Return the time of all replications from the latest end of a warm-up on.

        ``warm_up`` has the ends of the warm-up: of a bound, by the other bound.
        """
        clipped = tuple(
            f"{name}: in {count:,} cases less was subtracted than the machines differ by"
            for name, count in delays.clipped.items()
        )
        times = _times(self.content, delays, warm_up) * (self.trace.tick or 1.0)
        details: dict[str, object] = {"clipped": dict(delays.clipped)}
        if not self.content.is_less:
            return self.of_times(times, clipped, details)
        note = _UNSHARED if self.content.unshared else _BY_MESSAGE
        prediction = self.of_times(times, (*clipped, note), {**details, "bound": "lower"})
        return prediction if self.noisy else attrs.evolve(prediction, lower=prediction.time)

    def of_times(
        self,
        times: Floats,
        notes: tuple[str, ...] = (),
        details: Mapping[str, object] | None = None,
    ) -> Prediction:
        """Return the answer to the times, in seconds, of all replications."""
        notes = (*self.trace.notes, *self.notes, *notes)
        details = {"events": self.trace.count, **(details or {})}
        if len(times) == 1:
            return Prediction(time=float(times[0]), notes=notes, details=details)
        estimate = Estimate.of(times)
        return Prediction(
            time=estimate.mean,
            std=estimate.std,
            ci=estimate.ci,
            quantiles={level: float(np.quantile(times, level)) for level in LEVELS},
            notes=notes,
            details={**details, "replications": estimate.count},
        )


def question_of(query: Query) -> Question:
    """Return the question that a query asks.

    Raises
    ------
    ParcastError
        If the recording machine is not named, or no difference says what the machine changes.
    """
    query = timed(query)
    content: Traced = query.workload.content
    options: Options = query.options or Options()
    notes: tuple[str, ...] = ()
    if content.added is not None:
        change = Perturbation(event=content.added)
        recorded = without_network(content)
    else:
        change, recorded, notes = machine_change(query, content.trace, options.recorded_on)
    noise, gaps = noise_of(query.machine, content.trace)
    noisy = bool(noise or gaps)
    return Question(
        content=content,
        change=attrs.evolve(change, noise=change.noise + noise, compute=gaps),
        recorded=recorded,
        noisy=noisy,
        modeled=content.added is not None,
        replications=options.replications if noisy else 1,
        seed=query.seed,
        notes=notes,
    )


def timed(query: Query) -> Query:
    """Return the query with a trace of work timed on its machine.

    Raises
    ------
    UnsupportedError
        If it is said to be recorded on a machine, or cannot be timed.
    """
    content: Traced = query.workload.content
    if content.trace.timed:
        return query
    if getattr(query.options, "recorded_on", None):
        raise UnsupportedError(
            f"{content.trace.where} was recorded on no machine: it has work, and no times; leave "
            "out recorded_on"
        )
    return query.once("timed here", of_work)


def _times(content: Traced, delays: Delays, warm_up: Delays) -> Floats:
    """Return the time of each replication in ticks, from the latest end of a warm-up."""
    trace = content.trace
    if warm_up.ends is None or content.starts is None or not len(content.starts):
        return makespans(trace, delays.final)
    started = trace.events.times[content.starts, END][:, None] + warm_up.ends[content.starts]
    last = (trace.ends[:, None] + delays.final).max(axis=0)
    times: Floats = np.maximum(last - started.max(axis=0), 0.0)
    return times
