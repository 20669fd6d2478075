"""Which calls a transfer of Paraver belongs to, as its times tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence

import numpy as np

from parcast.errors import UnsupportedError
from parcast_traces.errors import TraceError
from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call, Message
from parcast_traces.readers.paraver.keeping import Transfer
from parcast_traces.readers.paraver.records import Records
from parcast_traces.trace.columns import Ints


class Matching:
    """Gives the messages of a file to calls, a rank at a time, and keeps their order."""

    def __init__(self, records: Records) -> None:
        self.records = records
        #: Which of its rank's sends, and of its rank's posted receives, each message is.
        self.sent, self.posted = (np.zeros(records.kept.messages, np.int32) for _ in range(2))

    def attached(self, rank: int) -> list[Call]:
        """Return the calls of a rank with the messages that they send, post and receive.

        Raises
        ------
        TraceError
            If no call was there at the time of a message.
        """
        calls = self.records.kept.calls(rank)
        finder = _CallFinder(rank, calls, str(self.records.path))
        for transfer in self.records.kept.transfers(rank):
            finder.attach(transfer)
        for order, role in ((self.sent, "sends"), (self.posted, "posts")):
            numbers = [message.number for call in calls for message in getattr(call, role)]
            order[numbers] = np.arange(len(numbers))
        return calls

    def check_order(self) -> None:
        """Refuse messages that overtake each other: their communicators are not recorded.

        Raises
        ------
        UnsupportedError
            If they do.
        """
        for rank in range(self.records.size):
            sends = [side for side in self.records.kept.transfers(rank) if side.sends]
            numbers, peers, tags = (
                np.array([getattr(side, name) for side in sends], np.int64)
                for name in ("number", "peer", "tag")
            )
            order = np.lexsort((self.sent[numbers], tags, peers))
            same = (np.diff(peers[order]) == 0) & (np.diff(tags[order]) == 0)
            late = np.flatnonzero(same & (np.diff(self.posted[numbers[order]]) < 0))
            if len(late):
                self._refuse(rank, numbers[order[late + 1]])

    def _refuse(self, rank: int, numbers: Ints) -> None:
        first = numbers[np.argmin(self.sent[numbers])]
        for event, call in enumerate(self.attached(rank)):
            for message in call.sends:
                if message.number == first:
                    raise UnsupportedError(
                        f"{self.records.path}: rank {rank}, event {event} ({call.name}): its "
                        f"message to rank {message.peer} with tag {message.tag} overtakes another, "
                        "and the file does not record their communicators"
                    )


class _CallFinder:
    """Finds the calls of a rank by their times."""

    def __init__(self, rank: int, calls: Sequence[Call], where: str) -> None:
        self.rank, self.calls, self.where = rank, calls, where
        self.starts = [call.start for call in calls]

    def attach(self, transfer: Transfer) -> None:
        """Give a message to the call that sent it, or that posted its receive and received it."""
        message = Message(transfer.number, transfer.peer, float(transfer.size), transfer.tag)
        if transfer.sends:
            self.around(transfer.at, transfer.line, c.SENDING, "sends").add("sends", message)
            return
        post = self.around(transfer.at, transfer.line, c.POSTING, "posts")
        post.add("posts", message)
        if post.name not in c.BLOCKING:
            post = self.around(transfer.got, transfer.line, c.WAITING, "completes")
        post.add("completes", message)

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
