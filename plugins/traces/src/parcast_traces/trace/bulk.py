"""Many events of a rank at once, as columns, checked as a `RankRecorder` checks them one by one."""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np

from parcast_traces.compilation import kernel
from parcast_traces.errors import TraceError
from parcast_traces.trace.calls import ALL, CODES, KINDS, NAMES, ROOTED, WAIT
from parcast_traces.trace.columns import NONE, Ints
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.spilling import EVENT

_REQUEST_FREE = CODES["request_free"]
_ROOTED = np.array([name in ROOTED for name in NAMES])


@attrs.frozen(eq=False, kw_only=True)
class Bulk:
    """Events of one rank; peers and roots are ranks of the whole run, ``NONE`` where there is none.

    Of a collective ``to`` is the root and ``comm`` the communicator. ``request`` is what a call
    makes, ``NONE`` for none; ``completed`` and ``by`` say which requests were completed by which
    event, in order.
    """

    call: Ints  #: positions in `NAMES`
    start: Any
    end: Any
    to: Ints
    tag: Ints
    size: Any
    source: Ints
    source_tag: Ints
    room: Any
    comm: Ints  #: numbers of the run's communicators
    request: Ints
    site: Ints  #: numbers of the run's sites
    completed: Ints
    by: Ints


@attrs.frozen(eq=False)
class Slots:
    """The slots of requests, where who records events has chosen them."""

    opened: Ints  #: of a message its slot, of a wait how many requests it completes
    waits: Any  #: whether each event is a wait
    completed: Ints  #: what waits complete, in order


def record(recorder: RankRecorder, bulk: Bulk) -> None:
    """Record events after those that the rank has.

    Raises
    ------
    TraceError
        If one cannot have happened.
    """
    _check_times(recorder, bulk)
    count, slots, firsts, counts = _requests(recorder, bulk)
    waits, first = np.array(KINDS)[bulk.call] == WAIT, np.zeros(len(bulk.call), np.int64)
    first[waits], count[waits] = (recorder.completed + firsts)[waits], counts[waits]
    freed = bulk.call == _REQUEST_FREE
    count[freed] = slots[firsts[freed]] + 1
    _add(recorder, bulk, first, count, slots)


def record_with(recorder: RankRecorder, bulk: Bulk, slots: Slots) -> None:
    """Record events of messages and waits as `record` does, by slots in place of requests.

    Raises
    ------
    TraceError
        If one cannot have happened.
    """
    _check_times(recorder, bulk)
    counts = np.where(slots.waits, slots.opened, 0).astype(np.int64)
    first = np.where(slots.waits, recorder.completed + np.cumsum(counts) - counts, 0)
    opened = slots.opened[~slots.waits]
    recorder.slots_used = max(recorder.slots_used, 1 + int(opened.max(initial=NONE)))
    _add(recorder, bulk, first, slots.opened, slots.completed)


def _add(recorder: RankRecorder, bulk: Bulk, first: Ints, count: Any, slots: Any) -> None:
    """Add the rows of events, of which requests have their slots."""
    kinds = np.array(KINDS)[bulk.call]
    together = kinds >= ALL
    out = _channels(recorder, bulk, bulk.to, bulk.tag, ~together & (bulk.to != NONE), sends=True)
    into = _channels(recorder, bulk, bulk.source, bulk.source_tag, bulk.source != NONE, sends=False)
    _join(recorder, bulk, together, (out, into, first))
    events = np.empty(len(kinds), EVENT)
    whole, times = events["whole"], events["times"]
    for column, values in enumerate((kinds, bulk.call, out, into, first, count, bulk.site)):
        whole[:, column] = values
    for column, values in enumerate((bulk.start, bulk.end, bulk.size, bulk.room)):
        times[:, column] = values
    recorder.rows += events.tobytes()
    recorder.slots.frombytes(slots.astype(np.int32).tobytes())
    recorder.completed += len(slots)
    if len(kinds):
        kept = np.flatnonzero(bulk.call != _REQUEST_FREE)
        last = int(bulk.call[kept[-1]]) if len(kept) else _REQUEST_FREE
        recorder.added(len(kinds), int(bulk.call[0]), last)


def _place(recorder: RankRecorder, event: int) -> str:
    return f"rank {recorder.rank}, event {recorder.count + event}"


def _error(recorder: RankRecorder, name: str, event: int, sentence: str) -> TraceError:
    return TraceError(name, f"{_place(recorder, event)}: {sentence}", recorder.names.where)


def _check_times(recorder: RankRecorder, bulk: Bulk) -> None:
    wrong = np.flatnonzero(~(np.isfinite(bulk.start) & np.isfinite(bulk.end)))
    if len(wrong):
        raise _error(recorder, "bad_time", int(wrong[0]), "it has no finite times")


def _channels(
    recorder: RankRecorder, bulk: Bulk, peers: Ints, tags: Ints, mine: Any, *, sends: bool
) -> Ints:
    """Return the channel of each event on which it sends, or receives."""
    channels = np.full(len(peers), NONE, np.int64)
    at = np.flatnonzero(mine)
    tag_of, tag_number = np.unique(tags[at], return_inverse=True)
    names, rank = recorder.names, recorder.rank
    wide = len(tag_of) * len(names.members)
    key = (peers[at] * len(names.members) + bulk.comm[at]) * len(tag_of) + tag_number
    which, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    numbers = np.empty(len(which), np.int64)
    for order in np.argsort(first).tolist():
        peer, remainder = divmod(int(which[order]), wide)
        comm, tag = remainder // len(tag_of), int(tag_of[remainder % len(tag_of)])
        _check_peer(recorder, peer, comm, int(at[first[order]]))
        ends = (rank, peer) if sends else (peer, rank)
        numbers[order] = names.channel(*ends, tag, comm)
    channels[at] = numbers[inverse.reshape(-1)]
    return channels


def _check_peer(recorder: RankRecorder, peer: int, comm: int, event: int) -> None:
    names = recorder.names
    members = names.positions(comm)
    if not 0 <= peer < names.size:
        raise _error(recorder, "bad_peer", event,
                     f"the peer is rank {peer}, and there are ranks 0 to "
                     f"{names.size - 1}")  # fmt: skip
    for rank in (recorder.rank, peer):
        if rank not in members:
            who = "the rank" if rank == recorder.rank else f"the peer, rank {peer},"
            raise _error(recorder, "not_in_comm", event,
                         f"{who} is not in communicator {names.labels[comm]}")  # fmt: skip


def _join(recorder: RankRecorder, bulk: Bulk, together: Any, columns: tuple[Any, ...]) -> None:
    """Fill what collectives have: communicator, position in it and the root's."""
    out, into, first = columns
    names = recorder.names
    for comm in np.unique(bulk.comm[together]).tolist():
        mine = np.flatnonzero(together & (bulk.comm == comm))
        positions = names.positions(comm)
        if recorder.rank not in positions:
            raise _error(recorder, "not_in_comm", int(mine[0]),
                         f"the rank is not in communicator {names.labels[comm]}")  # fmt: skip
        out[mine], into[mine], first[mine] = comm, positions[recorder.rank], NONE
        rooted = mine[_ROOTED[bulk.call[mine]]]
        roots = bulk.to[rooted]
        for root in np.unique(roots).tolist():
            if root not in positions:
                event = int(rooted[roots == root][0])
                raise _error(recorder, "bad_peer", event,
                             f"{NAMES[bulk.call[event]]} has root {root}, which is not in "
                             f"communicator {names.labels[comm]}")  # fmt: skip
            first[rooted[roots == root]] = positions[root]


def _slots(requests: Any, opens: Any, slot_of: Any, free: Any) -> tuple[int, int]:
    """Give requests small numbers that are used again.

    ``requests`` are dense; their slots come in their place. Return how many were in use at once,
    or, as second, 1 + the position of the first wrong one.
    """
    used, spare = 0, 0
    for at in range(len(requests)):
        request = requests[at]
        if opens[at]:
            if slot_of[request] >= 0:
                return used, at + 1
            if spare > 0:
                spare -= 1
                slot = free[spare]
            else:
                slot = used
                used += 1
            slot_of[request] = slot
        else:
            slot = slot_of[request]
            if slot < 0:
                return used, at + 1
            slot_of[request] = -1
            free[spare] = slot
            spare += 1
        requests[at] = slot
    return used, 0


_compiled_slots = kernel(_slots)
#: Below this many the plain form is faster than to load the compiled one, and numba with it.
_PLAIN, _PLAIN_WITHOUT_NUMBA = 20_000, 500_000


def _numbered(requests: Ints, opens: Any) -> tuple[Ints, Ints, int, int]:
    """Return the slots of requests, by request those still open, and what `_slots` returns."""
    count = int(requests.max(initial=-1)) + 1
    if len(requests) < (_PLAIN if "numba" in sys.modules else _PLAIN_WITHOUT_NUMBA):
        slots, slot_of = requests.tolist(), [NONE] * count
        used, wrong = _slots(slots, opens.tolist(), slot_of, [0] * (count + 1))
        return np.array(slots, np.int64), np.array(slot_of, np.int64), used, wrong
    requests, in_use = requests.copy(), np.full(count, NONE, np.int64)
    used, wrong = _compiled_slots(requests, opens, in_use, np.empty(count + 1, np.int64))
    return requests, in_use, int(used), int(wrong)


def _requests(recorder: RankRecorder, bulk: Bulk) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the slot that each event opens, those completed, and where each event's begin."""
    opening = np.flatnonzero(bulk.request != NONE)
    events = np.concatenate([opening, bulk.by])
    opens = np.concatenate([np.ones(len(opening), bool), np.zeros(len(bulk.by), bool)])
    names = np.concatenate([bulk.request[opening], bulk.completed])
    order = np.argsort(events, kind="stable")
    events, opens, names = events[order], opens[order], names[order]
    which, dense = np.unique(names, return_inverse=True)
    slots, slot_of, used, wrong = _numbered(dense.reshape(-1).astype(np.int64), opens)
    if wrong:
        at, name = int(events[wrong - 1]), int(names[wrong - 1])
        if opens[wrong - 1]:
            raise _error(recorder, "request_reused", at, f"request {name} is still open")
        raise _error(recorder, "unknown_request", at, f"there is no open request {name}")
    if recorder.names.checked and (left := np.flatnonzero(slot_of >= 0)).size:
        raise recorder.names.leak(recorder.rank, which[left].tolist())
    recorder.slots_used = max(recorder.slots_used, used)
    count = np.zeros(len(bulk.call), np.int64)
    count[events[opens]] = slots[opens]
    counts = np.bincount(bulk.by, minlength=len(bulk.call))
    return count, slots[~opens], np.cumsum(counts) - counts, counts
