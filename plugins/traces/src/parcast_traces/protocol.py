"""Which sends wait for their receiver: those of a size, of single calls, or as the trace shows."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np

from parcast.errors import ParcastError, UnsupportedError, did_you_mean
from parcast.quantities import to_base
from parcast_traces.trace.calls import CODES, ESEND, ISEND, SEND, SSEND
from parcast_traces.trace.columns import BYTES, END, KIND, NAME, SITE, START, Trace
from parcast_traces.trace.decoding import pairs


def protocol(trace: Trace, text: str) -> tuple[Trace, float | None, tuple[str, ...]]:
    """Return the trace with single calls decided, the run's limit in bytes, and its notes.

    Parameters
    ----------
    trace
        What ran.
    text
        ``64KiB`` for the run, ``CALL=64KiB`` for the sends of a call or call site, or
        ``estimated``; several by commas.

    Raises
    ------
    ParcastError
        If it cannot be read, or there is no such call.
    UnsupportedError
        If the trace does not show it.
    """
    calls, limit, notes = dict[str, float](), None, tuple[str, ...]()
    for part in text.split(","):
        call, equals, size = (word.strip() for word in part.rpartition("="))
        if equals:
            calls[call] = to_base(size, "B")
        elif limit is not None:
            raise ParcastError(f"--eager {text!r}: there are two sizes for the whole run; give one")
        elif size == "estimated":
            limit, note = estimated(trace)
            notes = (note,)
        else:
            limit = to_base(size, "B")
    return _with_limits(trace, calls), limit, notes


def _with_limits(trace: Trace, calls: Mapping[str, float]) -> Trace:
    """Return the trace with its sends of some calls waiting always or never, by their size."""
    if not calls:
        return trace
    whole = trace.events.whole.copy()
    sized = np.isin(whole[:, KIND], (SEND, ISEND))
    sites = {trace.sites[site] for site in np.unique(whole[sized, SITE]).tolist()}
    for call, limit in calls.items():
        of = np.array([site == call for site in trace.sites], bool)[whole[:, SITE]]
        rows = np.flatnonzero(sized & (of | (whole[:, NAME] == CODES.get(call, -1))))
        if not len(rows):
            raise ParcastError(
                f"--eager: {trace.where} has no sends called {call!r} whose size decides whether "
                f"they wait.{did_you_mean(call, sites)}"
            )
        late = trace.events.times[rows, BYTES] > limit
        whole[rows, KIND] += np.where(late, SSEND - SEND, ESEND - SEND).astype(np.int32)
    return attrs.evolve(trace, events=attrs.evolve(trace.events, whole=whole))


def estimated(trace: Trace) -> tuple[float, str]:
    """Return the size that parts the sends that waited for their receiver from those that did not.

    Blocking sends tell it whose receive was posted while or after they ran: one that ended
    before its receive was posted did not wait; one that ended later did. The size is the one that
    the most of them agree with.

    Raises
    ------
    UnsupportedError
        If the clocks of ranks are not one, or no receiver was late.
    """
    if not trace.comparable or not trace.timed:
        raise UnsupportedError(
            f"{trace.where}: the clocks of its ranks may differ, so it is not known which "
            "sends waited for their receiver; state --eager as a size"
        )
    sends, receives = pairs(trace)
    times, kinds = trace.events.times, trace.events.whole[:, KIND]
    posted = times[receives, START]
    telling = (kinds[sends] == SEND) & (times[sends, START] < posted)
    sizes, waited = times[sends, BYTES][telling], (times[sends, END] >= posted)[telling]
    if not len(sizes):
        raise UnsupportedError(
            f"{trace.where}: no blocking send began before its receive, so it is not known "
            "which wait for their receiver; state --eager as a size"
        )
    order = np.argsort(sizes, kind="stable")
    sizes, waited = sizes[order], waited[order]
    last = np.flatnonzero(np.diff(sizes, append=np.inf))  # of each size
    free = np.concatenate([[0], np.cumsum(~waited)[last]])
    agree = free + waited.sum() - np.concatenate([[0], np.cumsum(waited)[last]])
    best = int(agree.argmax())
    if best == len(last):
        limit, conclusion = np.inf, "no send waits for its receiver"
    else:
        limit = float(sizes[last[best - 1]]) if best else -1.0
        above = f"above {limit:.15g} bytes" if best else "of any size"
        conclusion = f"sends {above} wait for their receiver"
    note = (
        f"{conclusion}: {int(agree[best]):,} of {len(sizes):,} sends that began before their "
        "receive agree with that"
    )
    return limit, note
