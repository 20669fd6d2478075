"""``perturb.clocked``, ``perturb.upper`` and ``perturb.lower``: a trace on another machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs
import numpy as np

from parcast import Prediction, Query, UnsupportedError
from parcast.errors import ParcastError
from parcast.model import Count, Machine
from parcast.quantities import Estimate
from parcast_perturb import advice
from parcast_perturb.asking import noise_of, signature
from parcast_perturb.asynchronous import warned
from parcast_perturb.from_program import ZERO, of_work
from parcast_perturb.moving import refuse, slower, unlike
from parcast_perturb.parts import parts_of
from parcast_perturb.perturbation import Addition, Perturbation, Recorded
from parcast_perturb.prediction import LEVELS
from parcast_perturb.propagation.running import Delays, propagate
from parcast_perturb.span import makespans
from parcast_traces.trace.columns import END, Floats, Trace
from parcast_traces.workload import Traced


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    recorded_on: Machine | None = None  #: the machine that a recorded trace ran on
    replications: Count = 100  #: how often noise is drawn, on machines that have it


@attrs.frozen(eq=False)
class _Question:
    """A trace, what the query's machine adds, and what is known of the trace's own machine."""

    trace: Trace
    added: Perturbation
    recorded: Recorded
    random: bool
    notes: tuple[str, ...] = ()
    known: bool = False  #: what calls cost is known, so that time has parts


#: The bound that a warm-up has where what comes after it is to have this one.
_OTHER: Mapping[str, str] = {"upper": "lower", "lower": "upper"}


class _Solver:
    """Propagates what the machine adds under one policy."""

    policy: ClassVar[str]
    cost = staticmethod(advice.cost)
    assumptions = staticmethod(advice.of_clocked)

    def supports(self, query: Query) -> str | None:
        """Return None, or why the trace cannot be moved to the machine."""
        try:
            query.workload.content.check(query)
            query = _here(query)
            self._check(query)
            _question(query)
        except ParcastError as error:
            return str(error)
        return None

    def _check(self, query: Query) -> None:
        """Refuse what this policy cannot do."""

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        query = _here(query)
        asked = _question(query)
        options: Options = query.options or Options()
        replications = options.replications if asked.random else 1
        content: Traced = query.workload.content
        warm_up = content.starts is not None and len(content.starts) > 0
        split = asked.known and self.policy == "clocked"

        def under(policy: str) -> Delays:
            return propagate(
                asked.trace, asked.added, asked.recorded, policy,
                replications=replications, seed=query.seed, every_end=warm_up or split,
            )  # fmt: skip

        found = under(self.policy)
        warm = under(_OTHER[self.policy]) if warm_up and self.policy in _OTHER else found
        times = _times(content, found, warm) * (asked.trace.tick or 1.0)
        clipped = tuple(
            f"{name}: {count:,} times less was taken away than the machines differ by"
            for name, count in found.clipped.items()
        )
        made = _prediction(times, found, asked, clipped)
        if not split or found.ends is None:
            return made
        return attrs.evolve(made, parts=parts_of(content, found.ends[:, 0]))


class Clocked(_Solver):
    """Exact where the clocks of all ranks are one."""

    policy = "clocked"

    def _check(self, query: Query) -> None:
        content: Traced = query.workload.content
        if content.added is None and not content.trace.comparable:
            raise UnsupportedError(
                f"{content.trace.where}: the clocks of its ranks are not known to be one; ask "
                "perturb.upper and perturb.lower"
            )


class Upper(_Solver):
    """Not below the time, without comparing clocks."""

    policy = "upper"
    assumptions = staticmethod(advice.of_upper)


class Lower(_Solver):
    """Not above the time, without comparing clocks."""

    policy = "lower"
    assumptions = staticmethod(advice.of_lower)


def choose(query: Query) -> str:
    """Return the family's solver for a query."""
    content: Traced = query.workload.content
    trace = content.trace
    known = content.added is not None or trace.comparable or not trace.timed
    return "perturb.clocked" if known else "perturb.upper"


def _here(query: Query) -> Query:
    """Return the query with a trace of work timed on its machine."""
    content: Traced = query.workload.content
    if content.trace.timed or (query.options and query.options.recorded_on):
        return query
    return query.once("timed here", of_work)


def _times(content: Traced, found: Delays, warm: Delays) -> Floats:
    """Return the time of each replication in ticks, from the latest end of a warm-up.

    ``warm`` has the ends of the warm-up: of a bound, by the other bound.
    """
    trace = content.trace
    if warm.ends is None or content.starts is None or not len(content.starts):
        return makespans(trace, found.final)
    started = trace.events.times[content.starts, END][:, None] + warm.ends[content.starts]
    last = (trace.ends[:, None] + found.final).max(axis=0)
    times: Floats = np.maximum(last - started.max(axis=0), 0.0)
    return times


def _prediction(
    times: Floats, found: Delays, asked: _Question, clipped: tuple[str, ...]
) -> Prediction:
    details = {"events": asked.trace.count, "clipped": dict(found.clipped)}
    notes = (*asked.trace.notes, *asked.notes, *clipped)
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


def _question(query: Query) -> _Question:
    content: Traced = query.workload.content
    trace = content.trace
    if content.added is not None:
        noise, gaps = noise_of(query.machine, trace)
        return _Question(
            trace,
            Perturbation(event=content.added, noise=noise, compute=gaps),
            attrs.evolve(ZERO, eager_max=content.eager_limit),
            bool(noise or gaps),
            known=not (noise or gaps),
        )
    return _moved(query, trace)


def _moved(query: Query, trace: Trace) -> _Question:
    """Return the difference between the recording machine and the query's."""
    options: Options = query.options or Options()
    before = options.recorded_on
    if before is None:
        raise UnsupportedError(
            f"{trace.where} was recorded on a machine that is not named; name it with "
            "--set perturb.recorded_on=MACHINE"
        )
    if trace.tick is None:
        raise UnsupportedError(f"{trace.where}: the times have no unit; state it in the trace")
    here, there = signature(before, trace.tick), signature(query.machine, trace.tick)
    refuse(query, before, trace, here, there)
    noise, gaps = noise_of(query.machine, trace)
    assert here.latency is not None
    assert there.latency is not None
    assert here.per_byte is not None
    assert there.per_byte is not None
    first, second = before.processor.rate, query.machine.processor.rate
    notes = tuple(warned(trace))
    removed = None
    if first is None or second is None:
        notes += ("computation takes as long as recorded: one of the machines states no rate",)
    else:
        removed = slower(query, before, trace, first / second)
    return _Question(
        trace,
        Perturbation(
            noise=(Addition(there.overhead - here.overhead), *noise),
            compute=gaps,
            latency=(Addition(there.latency - here.latency),),
            per_byte=(Addition(there.per_byte - here.per_byte),),
            removed=removed,
            event=unlike(trace, here, there),
        ),
        here,
        bool(noise or gaps),
        notes,
    )
