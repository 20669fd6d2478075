"""What Extrae's numbers of MPI calls mean, and the calls of a rank as they are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from parcast_traces.trace.calls import ISENDS, SENDS

#: Event types whose values are calls, 0 where one ends: of messages, collectives, one-sided calls
#: and others, of which those not named below wait for nobody.
TYPES = range(50_000_001, 50_000_006)
ONE_SIDED, OTHERS = 50_000_004, (50_000_003, 50_000_005)
#: Event types of what a collective is: bytes sent and received, whether here is the root, and the
#: communicator.
SENT, GOT, IS_ROOT, COMMUNICATOR = range(50_100_001, 50_100_005)

#: Event types of the code: a user function, 0 where one ends; who called MPI, and its line.
FUNCTION, CALLER, LINE = 60_000_019, 70_000_001, 80_000_001

#: Calls that send or receive, wait, or are collectives.
NAMES: Mapping[int, str] = {
    1: "send", 2: "recv", 3: "isend", 4: "irecv", 5: "wait", 6: "waitall", 7: "bcast",
    8: "barrier", 9: "reduce", 10: "allreduce", 11: "alltoall", 12: "alltoallv", 13: "gather",
    14: "gatherv", 15: "scatter", 16: "scatterv", 17: "allgather", 18: "allgatherv", 30: "scan",
    31: "init", 32: "finalize", 33: "bsend", 34: "ssend", 35: "rsend", 36: "ibsend", 37: "issend",
    38: "irsend", 39: "test", 41: "sendrecv", 42: "sendrecv", 59: "waitany", 60: "waitsome",
    62: "iprobe", 80: "reduce_scatter", 123: "start", 124: "startall", 125: "testall",
    126: "testany", 128: "testsome", 168: "reduce_scatter_block", 170: "alltoallw", 214: "exscan",
}  # fmt: skip

#: Calls by which all of a communicator, which is not recorded, make another.
MAKING: Mapping[int, str] = {
    21: "comm_create", 22: "comm_dup", 23: "comm_split", 43: "comm_create", 49: "comm_split",
    54: "comm_create", 173: "comm_create", 194: "comm_split", 211: "comm_dup", 212: "comm_create",
}  # fmt: skip

#: Calls of which something that counts is not recorded, though their number says what they are.
UNMODELED: Mapping[int, str] = {
    40: "MPI_Cancel", 61: "MPI_Probe", 96: "MPI_Intercomm_create", 97: "MPI_Intercomm_merge",
    151: "MPI_Comm_spawn", 152: "MPI_Comm_spawn_multiple", 190: "MPI_Mprobe", 191: "MPI_Improbe",
    192: "MPI_Mrecv", 193: "MPI_Imrecv", 213: "MPI_Comm_create_group",
}  # fmt: skip

#: Calls of messages that only set up a request, or ask for one.
SETTING_UP = frozenset([112, 116, 117, 121, 122, 153])

BLOCKING = frozenset([*SENDS, "recv", "sendrecv"])
SENDING = frozenset([*SENDS, *ISENDS, "sendrecv", "start", "startall"])
POSTING = frozenset(["recv", "irecv", "sendrecv", "start", "startall"])
WAITING = frozenset([
    "wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome",
])  # fmt: skip
#: Calls that have any number of messages.
MANY = WAITING | {"startall"}


@attrs.frozen
class Message:
    """A communication: its number, the other rank, bytes and tag."""

    number: int
    peer: int
    size: float
    tag: int


@attrs.define(eq=False)
class Call:
    """A call of a rank, from the line of the file where it begins."""

    name: str
    start: int
    line: int
    end: int = -1
    comm: int | None = None
    size: float = 0.0
    is_root: bool = False
    region: str = ""
    at: str = ""  #: its line
    sends: Sequence[Message] = ()
    posts: Sequence[Message] = ()
    completes: Sequence[Message] = ()

    def add(self, role: str, message: Message) -> None:
        """Add a message that it sends, posts a receive for or completes; most calls have none."""
        messages = getattr(self, role)
        if messages:
            messages.append(message)
        else:
            setattr(self, role, [message])
