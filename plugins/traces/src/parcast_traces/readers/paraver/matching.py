"""Which calls a transfer of Paraver belongs to, as its times tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from parcast.errors import UnsupportedError
from parcast_traces.errors import TraceError
from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call, Message
from parcast_traces.readers.paraver.keeping import Transfer
from parcast_traces.readers.paraver.records import Records
from parcast_traces.trace.names import Names
from parcast_traces.trace.tallies import Tally

#: Calls of a rank that are looked at together.
_WINDOW = 1 << 15


class Matching:
    """Gives the messages of a file to calls, some of a rank at a time, and keeps their order."""

    def __init__(self, records: Records, names: Names) -> None:
        self.records, self.names = records, names
        #: The messages of each channel, as they are sent and as receives are posted for them.
        self.sent, self.posted = Tally(0), Tally(0)

    def attached(self, rank: int) -> Iterator[Sequence[Call]]:
        """Yield the calls of a rank with the messages that they send, post and receive.

        Raises
        ------
        TraceError
            If no call was there at the time of a message.
        """
        for calls in self._windows(rank):
            sides = (
                (self.sent, [(rank, message.peer, message) for call in calls
                             for message in call.sends]),
                (self.posted, [(message.peer, rank, message) for call in calls
                               for message in call.posts]),
            )  # fmt: skip
            for tally, messages in sides:
                channels = [self.names.channel(source, target, message.tag, 0)
                            for source, target, message in messages]  # fmt: skip
                numbers = [message.number for _, _, message in messages]
                tally.add(np.array(channels, np.int64), np.array(numbers, np.int64))
            yield calls

    def _windows(self, rank: int) -> Iterator[Sequence[Call]]:
        """Yield calls as `attached` does; those that end as the next window begins are in it."""
        kept, where = self.records.kept, str(self.records.path)
        starts = np.concatenate([np.empty(0, np.int64), *(
            rows["start"][:1] for rows in kept.calls(rank, _WINDOW)
        )])  # fmt: skip
        sides = kept.transfers_by_time(rank, starts)
        completions = kept.completions(len(starts))
        before: Sequence[Call] = ()
        if not len(starts):  # a message has no call
            for transfer in kept.as_transfers(sides.of(0)):
                _CallFinder(rank, (), where).attach(transfer)
        for window, rows in enumerate(kept.calls(rank, _WINDOW)):
            finder = _CallFinder(rank, [*before, *kept.as_calls(rows)], where)
            for transfer in kept.as_transfers(sides.of(window)):
                if finder.attach(transfer):
                    continue
                later = int(np.searchsorted(starts, transfer.got, side="right")) - 1
                completions.add(max(later, window), kept.packed(transfer))
            completing = kept.as_transfers(completions.of(window))
            for transfer in sorted(completing, key=lambda side: side.number):
                finder.complete(transfer)
            calls, last = finder.calls, len(finder.calls)
            while last and window + 1 < len(starts) and calls[last - 1].end >= starts[window + 1]:
                last -= 1
            before = calls[last:]
            yield calls[:last]
        yield before

    def check_order(self) -> None:
        """Refuse messages that overtake each other: their communicators are not recorded.

        Raises
        ------
        UnsupportedError
            If they do.
        """
        count = min(len(self.sent.sums), len(self.posted.sums))  # beyond there are none
        unlike = np.flatnonzero(self.sent.sums[:count] != self.posted.sums[:count])
        if not len(unlike):
            return
        of = self.names.channels()
        rank = int(of.source[unlike].min())
        crossing = unlike[of.source[unlike] == rank].tolist()
        ends = {(int(of.target[channel]), int(of.tag[channel])) for channel in crossing}
        posted = dict[int, int]()
        for target in sorted({target for target, _ in ends}):
            numbers = (
                message.number for calls in self._windows(target) for call in calls
                for message in call.posts
                if message.peer == rank and (target, message.tag) in ends
            )  # fmt: skip
            posted.update({number: place for place, number in enumerate(numbers)})
        self._refuse(rank, ends, posted)

    def _refuse(self, rank: int, ends: Collection[tuple[int, int]], posted: Any) -> None:
        """Refuse the first message of a rank whose receive is posted before an earlier one's."""
        event, latest = -1, dict[tuple[int, int], int]()
        for call in (call for calls in self._windows(rank) for call in calls):
            event += 1
            for message in call.sends:
                end = message.peer, message.tag
                if end not in ends:
                    continue
                if posted[message.number] < latest.get(end, -1):
                    raise UnsupportedError(
                        f"{self.records.path}: rank {rank}, event {event} ({call.name}): its "
                        f"message to rank {message.peer} with tag {message.tag} overtakes another, "
                        "and the file does not record their communicators"
                    )
                latest[end] = posted[message.number]


class _CallFinder:
    """Finds the calls of a rank by their times."""

    def __init__(self, rank: int, calls: Sequence[Call], where: str) -> None:
        self.rank, self.calls, self.where = rank, calls, where
        self.starts = [call.start for call in calls]

    def attach(self, transfer: Transfer) -> bool:
        """Give a message to the call that sent it, or that posted its receive.

        Return whether that is all, so that no other call received it.
        """
        message = _message(transfer)
        if transfer.sends:
            self.around(transfer.at, transfer.line, c.SENDING, "sends").add("sends", message)
            return True
        post = self.around(transfer.at, transfer.line, c.POSTING, "posts")
        post.add("posts", message)
        if post.name in c.BLOCKING:
            post.add("completes", message)
        return post.name in c.BLOCKING

    def complete(self, transfer: Transfer) -> None:
        """Give a message to the call that received it."""
        call = self.around(transfer.got, transfer.line, c.WAITING, "completes")
        call.add("completes", _message(transfer))

    def around(self, time: int, line: int, names: Collection[str], role: str) -> Call:
        """Return the call of some names around a time, which has room for a message.

        Where one call ends as the next begins, it is the one whose time is meant.
        """
        near, meant = None, None
        for at in range(bisect_right(self.starts, time) - 1, -1, -1):
            call = self.calls[at]
            if call.end < time:
                break
            if call.name in names and (call.name in c.MANY or not getattr(call, role)):
                near = near or call
                ends = call.name == "irecv" or role == "completes"
                meant = call if time == (call.end if ends else call.start) else meant
        match = meant or near
        if match is None:
            name = "unmatched_send" if role == "sends" else "unmatched_recv"
            raise TraceError(
                name, f"line {line}: no call of rank {self.rank} {role} a message at {time}",
                self.where,
            )  # fmt: skip
        return match


def _message(transfer: Transfer) -> Message:
    return Message(transfer.number, transfer.peer, float(transfer.size), transfer.tag)
