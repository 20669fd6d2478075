"""Running the kernel: from a trace and a perturbation to the delay of every end."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded, Semantics
from parcast_perturb.propagation.deltas import deltas_of
from parcast_perturb.propagation.kernel import advance
from parcast_perturb.propagation.room import calls_of, deeper, mail_of, more_records, ranks_of
from parcast_perturb.propagation.state import (
    CLOCKED,
    CURSOR,
    ENDED,
    HIGH,
    LOWER,
    MORE_CALLS,
    MORE_RECORDS,
    PAPER,
    SHIFT,
    TOTAL,
    UPPER,
    Outcome,
    Rules,
    Window,
)
from parcast_perturb.propagation.stuck import cycle
from parcast_perturb.trace.columns import Floats, Trace

POLICIES: Mapping[str, int] = {"upper": UPPER, "lower": LOWER, "clocked": CLOCKED}


@attrs.frozen(eq=False, kw_only=True)
class Delays:
    """Delays in ticks, a column for each replication."""

    final: Floats  #: of each rank's last end
    ends: Floats | None = attrs.field(repr=False)  #: of each event's end
    clipped: Mapping[str, int]  #: how many reductions were cut to what there was to take away


def propagate(
    trace: Trace,
    perturbation: Perturbation,
    recorded: Recorded,
    policy: str,
    semantics: Semantics | None = None,
    *,
    every_end: bool = False,
    quantum: int = 64,
) -> Delays:
    """Return how much later every rank ends.

    Parameters
    ----------
    trace
        What ran.
    perturbation
        What is added.
    recorded
        What is known of the machine it ran on.
    policy
        ``"upper"`` and ``"lower"`` compare no clocks; ``"clocked"`` takes them as one.
    semantics
        How calls behave.
    every_end
        Whether to keep the delay of every event.
    quantum
        How many events a rank may run ahead of the least advanced one.

    Raises
    ------
    TraceError
        If ranks wait for each other for ever.
    UnsupportedError
        If the policy is ``"clocked"`` and the recording machine's latency is not known.
    """
    semantics = semantics or Semantics()
    deltas, clipped = deltas_of(trace, perturbation, recorded)
    rules = _rules(trace, recorded, policy, semantics, quantum)
    replications = 1
    ranks = ranks_of(trace, replications, quantum)
    mail = mail_of(trace, replications)
    calls = calls_of(trace, replications, butterfly=rules.butterfly)
    rows = trace.count if every_end else 0
    outcome = Outcome(np.empty((rows, replications if every_end else 0)))
    window = _window(trace)
    while (reason := advance(window, deltas, ranks, mail, calls, rules, outcome)) != ENDED:
        if reason == MORE_RECORDS:
            mail = more_records(mail)
        elif reason == MORE_CALLS:
            calls = deeper(calls)
    if (ranks.stand[:, CURSOR] < ranks.stand[:, TOTAL]).any():
        raise cycle(trace, ranks, mail, calls, rules)
    return Delays(final=ranks.delay, ends=outcome.ends if every_end else None, clipped=clipped)


def _window(trace: Trace) -> Window:
    """Return the whole trace as one window."""
    events = trace.events
    at = np.zeros((trace.size, 3), np.int64)
    at[:, SHIFT], at[:, HIGH] = events.offsets[:-1], np.diff(events.offsets)
    whole = (events.kind, events.out, events.into, events.first, events.count)
    return Window(
        np.stack([one.astype(np.int32) for one in whole], axis=1),
        np.stack([events.start, events.end, events.bytes], axis=1),
        events.slots,
        at,
    )


def _rules(
    trace: Trace, recorded: Recorded, policy: str, semantics: Semantics, quantum: int
) -> Rules:
    paper = semantics.rules == "paper"
    if policy == "clocked" and not paper and (recorded.latency is None):
        raise UnsupportedError(
            f"{trace.where}: clocks say when messages arrived only with the latency of the "
            "machine that the trace was recorded on; state L, or ask for upper and lower"
        )
    receive = recorded.overhead_receive
    return Rules(
        policy=PAPER if paper else POLICIES[policy],
        rendezvous=semantics.protocol == "rendezvous",
        lead=not paper,
        butterfly=semantics.collectives == "butterfly",
        eager_max=-math.inf if paper else float(recorded.eager_max),
        overhead=float(recorded.overhead),
        overhead_per_byte=float(recorded.overhead_per_byte),
        overhead_receive=float(recorded.overhead if receive is None else receive),
        latency=float(recorded.latency or 0),
        per_byte=float(recorded.per_byte or 0),
        quantum=quantum,
    )
