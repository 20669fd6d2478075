"""Running the kernel: from a trace and a perturbation to the delay of every end."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from parcast.cli import show_progress
from parcast.errors import UnsupportedError
from parcast_perturb.perturbation import Perturbation, Recorded, Semantics
from parcast_perturb.propagation.buffers import grow_records, initial_state
from parcast_perturb.propagation.deadlock import deadlock_error
from parcast_perturb.propagation.deltas import deltas_of, or_empty
from parcast_perturb.propagation.forms import PROPAGATION
from parcast_perturb.propagation.state import (
    CLOCKED,
    CURSOR,
    DELAY,
    ENDED,
    LOWER,
    NEEDS_RECORDS,
    PAPER,
    PAUSED,
    UPPER,
    Deltas,
    Outcome,
    Rules,
    State,
    Table,
)
from parcast_perturb.propagation.window import MOST_EVENTS, Window
from parcast_traces.trace.columns import Events, Floats, Ints, Trace

POLICIES: Mapping[str, int] = {"upper": UPPER, "lower": LOWER, "clocked": CLOCKED}

#: Events times replications after which a terminal is told how far it is.
_PROGRESS_WORK = 4_000_000

#: As the kernel counts what was cut.
_CLIPPED = ("os-noise", "compute-noise", "latency", "per-byte")


@attrs.frozen(eq=False, kw_only=True)
class Delays:
    """Delays in ticks, a column for each replication."""

    final: Floats  #: of each rank's last end
    ends: Floats | None = attrs.field(repr=False)  #: of each event's end
    cause: Ints | None = attrs.field(repr=False)  #: of each end in the first replication
    changes: Floats = attrs.field(repr=False)
    """What calls absorbed, and by how much they made their rank later than it was itself.

    [site, then rank; absorbed or made], a mean over replications.
    """
    clipped: Mapping[str, int]  #: how often less was subtracted than stated


def propagate(
    trace: Trace,
    perturbation: Perturbation,
    recorded: Recorded,
    policy: str,
    semantics: Semantics | None = None,
    *,
    replications: int = 1,
    seed: int = 0,
    every_end: bool = False,
    causes: bool = False,
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
        ``"upper"`` and ``"lower"`` compare no clocks; ``"clocked"`` takes them as one. The paper's
        own rules know of none, so any word stands for them.
    semantics
        How calls behave.
    replications
        How often laws are drawn from; all of them go through the trace together.
    seed
        Of the draws. An event's draw depends on this, the event and the replication alone.
    every_end, causes
        Whether to keep the delay of every event, and what decided it.
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
    deltas = deltas_of(trace, perturbation, recorded, replications, seed)
    rules = rules_of(trace, recorded, policy, semantics, quantum)
    ends = np.empty((trace.count, replications)) if every_end else None
    cause = np.empty(trace.count, np.int64) if causes else None
    calls = or_empty(recorded.call_costs, 2)
    state = _run_all(trace, deltas, rules, _outcome(ends, cause), replications, calls)
    if (state.rank[:, CURSOR] < np.diff(trace.events.offsets)).any():
        raise deadlock_error(trace, state, rules)
    return Delays(
        final=state.delay[:, DELAY].copy(),
        ends=ends,
        cause=cause,
        changes=state.changes / replications,
        clipped={name: int(n) for name, n in zip(_CLIPPED, state.clipped, strict=True) if n},
    )


def _outcome(ends: Floats | None, cause: Ints | None) -> Outcome:
    """Return where the kernel writes what is kept of events, and nothing where that is not."""
    return Outcome(
        np.empty((0, 0)) if ends is None else ends,
        np.empty(0, np.int64) if cause is None else cause,
    )


def _run_all(
    trace: Trace, deltas: Deltas, rules: Rules, outcome: Outcome, replications: int, calls: Floats
) -> State:
    """Run all ranks as far as they get, part after part; return where they stand."""
    events, state = trace.events, initial_state(trace, replications, rules.quantum)
    is_large = trace.in_file and trace.count > MOST_EVENTS
    window = Window(trace, rules.quantum, calls) if is_large else None
    table = table_of(events, calls) if window is None else window.table
    work = trace.count * replications
    rounds = max(1, _PROGRESS_WORK // (rules.quantum * max(trace.size, 1) * replications))
    advance, reason = PROPAGATION.form(work), PAUSED
    with show_progress("events", shown=work > _PROGRESS_WORK) as tell:
        while reason != ENDED:
            if reason == NEEDS_RECORDS:
                state = grow_records(state)
            if window is not None:
                window.move(state)
                rounds = window.rounds
            reason = advance(table, deltas, state, rules, outcome, rounds)
            tell("events", float(state.rank[:, CURSOR].sum()), trace.count)
    return state


def table_of(events: Events, calls: Floats) -> Table:
    """Return events as the kernel takes them, all in memory, with what their calls cost."""
    return Table(
        np.asarray(events.whole), np.asarray(events.times), np.asarray(events.slots),
        events.offsets, calls,
    )  # fmt: skip


def rules_of(
    trace: Trace,
    recorded: Recorded,
    policy: str,
    semantics: Semantics | None = None,
    quantum: int = 64,
) -> Rules:
    """Return how edges behave under a policy.

    Raises
    ------
    UnsupportedError
        If the policy is ``"clocked"`` and the recording machine's latency is not known.
    """
    semantics = semantics or Semantics()
    paper = semantics.rules != "corrected"
    if policy == "clocked" and not paper and recorded.latency is None:
        raise UnsupportedError(
            f"{trace.where}: clocks say when messages arrived only with the latency of the "
            "machine that the trace was recorded on; state it (--recorded-on), or use "
            "upper and lower"
        )
    receive, early = recorded.overhead_receive, recorded.early_max
    eager_max = -math.inf if paper else float(recorded.eager_max)
    flies = trace.modeled and not paper
    protocol = semantics.protocol or ("rendezvous" if flies else "acknowledge")
    return Rules(
        policy=PAPER if paper else POLICIES[policy],
        rendezvous=protocol == "rendezvous",
        butterfly=semantics.collectives == "butterfly",
        modeled=trace.modeled,
        equation_2=semantics.rules == "equation-2",
        eager_max=eager_max,
        early_max=eager_max if paper or early is None else float(early),
        overhead=float(recorded.overhead),
        overhead_per_byte=float(recorded.overhead_per_byte),
        overhead_receive=float(recorded.overhead if receive is None else receive),
        latency=float(recorded.latency or 0),
        per_byte=float(recorded.per_byte or 0),
        quantum=quantum,
    )
