"""Which calls a transfer of Paraver belongs to, as its times tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from parcast.errors import UnsupportedError
from parcast_traces.errors import TraceError
from parcast_traces.readers.paraver import calls as c
from parcast_traces.readers.paraver.calls import Call, Message
from parcast_traces.readers.paraver.records import Records, Transfer


def attach(records: Records) -> None:
    """Give each transfer to the calls that sent it, posted its receive and received it.

    Raises
    ------
    TraceError
        If no call was there at its time.
    UnsupportedError
        If messages overtake each other.
    """
    calls = _CallFinder(records)
    for number, transfer in enumerate(records.transfers):
        to, back = (Message(number, peer, float(transfer.size), transfer.tag)
                    for peer in (transfer.target, transfer.source))  # fmt: skip
        calls.around(transfer, transfer.source, transfer.sent, c.SENDING, "sends").sends.append(to)
        post = calls.around(transfer, transfer.target, transfer.posted, c.POSTING, "posts")
        post.posts.append(back)
        if post.name not in c.BLOCKING:
            post = calls.around(transfer, transfer.target, transfer.got, c.WAITING, "completes")
        post.completes.append(back)
    _check_order(records)


class _CallFinder:
    """Finds calls by their times."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.starts = [[call.start for call in calls] for calls in records.calls]

    def around(
        self, transfer: Transfer, rank: int, time: int, names: Collection[str], role: str
    ) -> Call:
        """Return the call of a rank and of some names around a time, which has room for a message.

        Where one call ends as the next begins, it is the one whose time is meant.
        """
        calls, near, meant = self.records.calls[rank], None, None
        for at in range(bisect_right(self.starts[rank], time) - 1, -1, -1):
            call = calls[at]
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
                name,
                f"line {transfer.line}: no call of rank {rank} {role} a message at {time}",
                str(self.records.path),
            )
        return match


def _check_order(records: Records) -> None:
    """Refuse messages that overtake each other: their communicators are not recorded."""
    posts = (message for calls in records.calls for call in calls for message in call.posts)
    posted = {message.number: at for at, message in enumerate(posts)}
    last: dict[tuple[int, int, int], int] = {}
    for rank, calls in enumerate(records.calls):
        for event, call in enumerate(calls):
            for message in call.sends:
                channel = (rank, message.peer, message.tag)
                if last.get(channel, -1) > posted[message.number]:
                    raise UnsupportedError(
                        f"{records.path}: rank {rank}, event {event} ({call.name}): its message "
                        f"to rank {message.peer} with tag {message.tag} overtakes another, and the "
                        "file does not record their communicators"
                    )
                last[channel] = posted[message.number]
