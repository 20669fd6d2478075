"""Matching: which receive takes each message, in the order that MPI fixes."""

from __future__ import annotations

from collections import Counter
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError
from parcast.program.matching.columns import Columns, Ids
from parcast.program.matching.tasks import Inbox, sent_by_tasks
from parcast.program.source.operations import ANY, RECEIVES, SENDS

#: The partner of an operation that sends, or receives, nothing.
NOTHING = -1

#: The partner of a message that a `recv(ANY)` may take: only a run decides.
TIMING = -2


@attrs.frozen(eq=False)
class Matching:
    """The partners of messages, by operation: an id, `NOTHING` or `TIMING`."""

    sent_to: Ids  #: the receive that takes the message
    received_from: Ids  #: the send of the message

    def timed(self) -> bool:
        """Return whether timing decides some partner."""
        return bool((self.received_from == TIMING).any())


@attrs.frozen(eq=False)
class _Side:
    """The sends, or the receives, of a program."""

    ids: Ids
    source: NDArray[Any]  #: the sender's rank, or `ANY`
    to: NDArray[Any]  #: the receiver's rank
    tag: Ids

    def take(self, chosen: Any) -> _Side:
        return _Side(self.ids[chosen], self.source[chosen], self.to[chosen], self.tag[chosen])


def match(columns: Columns) -> Matching:
    """Return which send and which receive belong together.

    The k-th send from one rank to another with a tag belongs to the k-th such receive
    posted. A rank that takes messages of a tag with ``recv(ANY)`` takes all of them so.

    Raises
    ------
    InvalidPointError
        If a message is never received, a receive never gets one, or ``recv(ANY)`` and
        receives from one rank share a tag.
    """
    sends, receives = _sides(columns)
    count = len(columns.op)
    sent_to, received_from = np.full(count, NOTHING), np.full(count, NOTHING)
    if (receives.source == ANY).any():
        open_sends, open_receives = _timed(columns, sends, receives)
        sent_to[sends.ids[open_sends]] = TIMING
        received_from[receives.ids[open_receives]] = TIMING
        sends, receives = sends.take(~open_sends), receives.take(~open_receives)
    send_keys, receive_keys = _keys(columns, sends, receives)
    by_send, by_receive = (np.argsort(k, kind="stable") for k in (send_keys, receive_keys))
    if not np.array_equal(send_keys[by_send], receive_keys[by_receive]):
        raise InvalidPointError(_unmatched(columns, sends, receives))
    sent_to[sends.ids[by_send]] = receives.ids[by_receive]
    received_from[receives.ids[by_receive]] = sends.ids[by_send]
    return Matching(sent_to, received_from)


def _sides(columns: Columns) -> tuple[_Side, _Side]:
    owner = np.repeat(np.arange(len(columns.offsets) - 1, dtype=np.int32), np.diff(columns.offsets))
    sends, receives = (np.flatnonzero(columns.among(names)) for names in (SENDS, RECEIVES))
    source, to = owner[sends], columns.dst[sends]
    if (copies := columns.unrolled.copies) > 1:  # the copy that sends to a rank which is kept
        size = np.int32(columns.unrolled.size)
        source, to = (source - to // size * size) % (size * copies), to % size
    return (
        _Side(sends, source, to, columns.tag[sends]),
        _Side(receives, columns.src[receives], owner[receives], columns.tag[receives]),
    )


def _keys(columns: Columns, sends: _Side, receives: _Side) -> tuple[Ids, Ids]:
    """Return one number for each channel: a sender, a receiver and a tag."""
    size = (len(columns.offsets) - 1) * columns.unrolled.copies
    tags = sends.tag, receives.tag
    both = np.concatenate(tags)
    low, span = (int(both.min()), int(np.ptp(both)) + 1) if len(both) else (0, 1)
    if span * (size + 1) ** 2 < 2**62:
        numbers = tags[0] - low, tags[1] - low
    else:  # tags far apart are counted instead
        distinct = np.unique(both)
        numbers, span = (
            (np.searchsorted(distinct, tags[0]), np.searchsorted(distinct, tags[1])),
            len(distinct),
        )
    pairs = zip((sends, receives), numbers, strict=True)
    first, second = ((side.source * np.int64(size) + side.to) * span + n for side, n in pairs)
    return first, second


def _timed(columns: Columns, sends: _Side, receives: _Side) -> tuple[Any, Any]:
    """Return which sends and receives `recv(ANY)` pairs, checked to be as many."""
    inboxes = (
        attrs.evolve(sends, source=sends.to * 0),
        attrs.evolve(receives, source=receives.to * 0),
    )
    send_keys, receive_keys = _keys(columns, *inboxes)
    wild = receives.source == ANY
    keys = np.unique(receive_keys[wild])
    open_sends, open_receives = np.isin(send_keys, keys), np.isin(receive_keys, keys)
    mixed = np.flatnonzero(open_receives & ~wild)
    if len(mixed):
        receive = mixed[0]
        wildcard = np.flatnonzero(wild & (receive_keys == receive_keys[receive]))[0]
        raise InvalidPointError(
            f"{columns.line(receives.ids[receive])}: at p={len(columns.offsets) - 1} which message "
            f"rank {receives.to[receive]} receives from rank {receives.source[receive]} (tag "
            f"{receives.tag[receive]}) depends on timing, because it also takes that tag with "
            f"recv(ANY) ({columns.line(receives.ids[wildcard])}); give them different tags"
        )
    sent = np.searchsorted(np.sort(send_keys[open_sends]), [keys, keys + 1])
    received = np.searchsorted(np.sort(receive_keys[wild]), [keys, keys + 1])
    of_tasks = _of_tasks(columns, receives, receive_keys, keys)
    wrong = np.flatnonzero(np.diff(sent, axis=0)[0] + of_tasks != np.diff(received, axis=0)[0])
    if len(wrong):
        key = keys[wrong[0]]
        some_receive = np.flatnonzero(receive_keys == key)
        count = int((send_keys == key).sum() + of_tasks[wrong[0]])
        receive = some_receive[0]
        raise InvalidPointError(
            f"{columns.line(receives.ids[receive])}: at p={len(columns.offsets) - 1} rank "
            f"{receives.to[receive]} takes {_messages(len(some_receive))} with recv(ANY) (tag "
            f"{receives.tag[receive]}) where {count} {'is' if count == 1 else 'are'} sent to it; "
            "receive as many as are sent"
        )
    return open_sends, open_receives


def _of_tasks(columns: Columns, receives: _Side, receive_keys: Ids, keys: Ids) -> Ids:
    """Return how many messages tasks of pools send to the inbox of each key."""
    sent = sum(map(sent_by_tasks, columns.unrolled.pools), Counter[Inbox]())
    if not sent:
        return np.zeros(len(keys), np.int64)
    first = [int(np.flatnonzero(receive_keys == key)[0]) for key in keys]
    return np.array([sent[int(receives.to[at]), int(receives.tag[at])] for at in first], np.int64)


def _messages(count: int) -> str:
    return f"{count} message{'s' * (count != 1)}"


def _unmatched(columns: Columns, sends: _Side, receives: _Side) -> str:
    """Return the sentence for the first operation in the program without a partner."""
    send_keys, receive_keys = _keys(columns, sends, receives)
    loose = {
        "send": sends.take(_surplus(send_keys, receive_keys)),
        "receive": receives.take(_surplus(receive_keys, send_keys)),
    }
    firsts = {
        name: (int(columns.order[side.ids].min()), name)
        for name, side in loose.items()
        if len(side.ids)
    }
    name = min(firsts.values())[1]
    side, counterpart = loose[name], loose["receive" if name == "send" else "send"]
    at = int(np.argmin(columns.order[side.ids]))
    source, to, tag = int(side.source[at]), int(side.to[at]), int(side.tag[at])
    sent, received = (
        int(((s.source == source) & (s.to == to) & (s.tag == tag)).sum()) for s in (sends, receives)
    )
    if name == "send":
        fact = f"rank {source} sends {_messages(sent)} to rank {to} (tag {tag})"
        lack = (
            f"and rank {to} receives only {received}"
            if received
            else f"that rank {to} never receives"
        )
    else:
        fact = f"rank {to} receives {_messages(received)} from rank {source} (tag {tag})"
        lack = f"and rank {source} sends only {sent}" if sent else f"that rank {source} never sends"
    p = len(columns.offsets) - 1
    hint = _hint(columns, name, (source, to, tag), counterpart)
    return f"{columns.line(side.ids[at])}: at p={p} {fact} {lack}; {hint}"


def _surplus(keys: Ids, others: Ids) -> Ids:
    """Return which operations of each channel have no partner on the other side."""
    order = np.argsort(keys, kind="stable")
    listed, others = keys[order], np.sort(others)
    nth = np.arange(len(listed)) - np.searchsorted(listed, listed)
    partners = np.searchsorted(others, listed, "right") - np.searchsorted(others, listed)
    return np.sort(order[nth >= partners])


def _hint(columns: Columns, name: str, channel: tuple[int, int, int], counterpart: _Side) -> str:
    """Return what the other side does instead, or what is missing."""
    source, to, tag = channel
    if len(columns.offsets) == 2:
        return "put messages under `if size > 1`"
    doing = "receives" if name == "send" else "sends"
    peer, mate = (to, source) if name == "send" else (source, to)
    otherwise = np.flatnonzero((counterpart.source == source) & (counterpart.to == to))
    if len(otherwise):
        line = columns.line(counterpart.ids[otherwise[0]])
        used = counterpart.tag[otherwise[0]]
        return f"rank {peer} {doing} with tag {used} ({line}): give both the same tag"
    near, far = (
        (counterpart.to, counterpart.source)
        if name == "send"
        else (counterpart.source, counterpart.to)
    )
    elsewhere = np.flatnonzero((near == peer) & (counterpart.tag == tag))
    if len(elsewhere):
        index = elsewhere[0]
        way = "from" if name == "send" else "to"
        line = columns.line(counterpart.ids[index])
        return (
            f"rank {peer} {doing} {way} rank {far[index]} instead ({line}), not {way} rank {mate}"
        )
    tagged = f", tag={tag}" if tag else ""
    missing = f"recv({source}{tagged})" if name == "send" else f"send({to}, ...{tagged})"
    return f"add {missing} on rank {peer}, or leave this out where it has no partner"
