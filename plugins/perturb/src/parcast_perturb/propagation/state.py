"""What the kernels read and keep: named tuples of a few tables, as numba takes them.

Tables have a row for each event, rank, record and so on, and a column for each constant
named beside them. Delays have a third axis, the replications.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: How an edge's slack is known. ``UPPER``: where it is unknown it is 0; ``LOWER``: it is
#: unlimited; ``CLOCKED``: the clocks say it; ``PAPER``: there is none at all.
UPPER, LOWER, CLOCKED, PAPER = range(4)

#: Why the kernel returns.
ENDED, MORE_RECORDS, MORE_CALLS, MORE_EVENTS = range(4)

#: What a call or a request waits for.
NOTHING, ARRIVAL, RELEASE, COLLECTIVE, PROBED = range(5)

NO = -1

#: Columns of `Window.whole`, `Window.times` and `Window.at`.
KIND, OUT, INTO, FIRST, COUNT = range(5)
START, END, BYTES = range(3)
SHIFT, SLOT_SHIFT, HIGH = range(3)


class Window(NamedTuple):
    """Events at hand: event ``i`` of a rank is row ``i + SHIFT`` if ``i`` is below ``HIGH``."""

    whole: Any  #: as the columns of `Events`
    times: Any
    slots: Any
    at: Any  #: by rank; ``SLOT_SHIFT`` is added to ``FIRST`` of a wait


class Deltas(NamedTuple):
    """What is added, in ticks: a row for each row of the window, or one for all.

    ``latency`` is of the message sent, its bytes included; ``back`` of its acknowledgment.
    ``hop`` holds the noise and the latency of each stage of a collective, ``hop_noise`` the
    noise alone; without rows every stage takes those of the call.
    """

    gap: Any
    noise: Any
    latency: Any
    back: Any
    per_byte: float  #: of collectives
    hop: Any
    hop_noise: Any
    hop_at: Any  #: by row, where its stages begin in ``hop``


class Rules(NamedTuple):
    """How edges behave, and what of the recording machine is known."""

    policy: int
    rendezvous: bool  #: a late message flies once its receive is posted; else it is acknowledged
    lead: bool  #: a send's own noise delays its message
    butterfly: bool  #: collectives take the maximum at every stage
    eager_max: float
    overhead: float
    overhead_per_byte: float
    overhead_receive: float
    latency: float  #: of the recording machine
    per_byte: float
    quantum: int  #: how far a rank may run ahead


#: Columns of `Ranks.stand`: the event that a rank is at, how many it has, whether it has
#: started the event, the record of a message it sends, that of its receive (or the ordinal of
#: its collective), whether it is in the queue (1) or among those ahead (2), its first slot.
CURSOR, TOTAL, ENTERED, SENDING, RECEIVING, QUEUED, REQUEST_BASE = range(7)

#: Columns of `Ranks.request`: what it waits for; its record, or the ordinal of a collective,
#: whose communicator, place and kind follow.
WHAT, WHICH, COMM, PLACE, CALL = range(5)

#: Places in `Ranks.counters`: the queue's head and length, how many are ahead, how far ranks
#: may run, the rank that lacks events.
QUEUE_HEAD, QUEUE_LENGTH, AHEAD, TARGET, LACKING = range(5)


class Ranks(NamedTuple):
    """Where every rank stands."""

    stand: Any
    begun: Any  #: delay of the start of the event
    delay: Any  #: delay of the latest end
    queue: Any  #: a ring of ranks that may run
    ahead: Any  #: ranks that have run far enough
    counters: Any
    request: Any  #: by slot


#: Columns of `Messages.channel`: the first and last record without its other side, whether
#: these are receives, the rank that probes.
HEAD, TAIL, HOLDS_POSTS, PROBING = range(4)

#: Columns of `Messages.record`. ``SIDES``: 1 sent, 2 posted, 3 both. ``LATE``: the sender waits
#: for the receiver. ``HOLDERS``: how many still need it. ``RECEIVER`` and ``SENDER``: whom to wake.
FOLLOWING, SIDES, LATE, BLOCKING, ARRIVED, RELEASED, HOLDERS, RECEIVER, SENDER = range(9)

#: Columns of `Messages.times` (with ``BYTES``) and of `Messages.delays` (with ``ARRIVAL`` and
#: ``RELEASE``).
SENT_AT, ARRIVAL_AT, POSTED_AT, RELEASE_AT = 0, 1, 3, 4
SENT, POSTED, FLIGHT, BACK = 0, 3, 4, 5


class Messages(NamedTuple):
    """Channels and what is in them; a record is a message, a receive, or both."""

    channel: Any
    free: Any  #: the first free record, and how many there are
    record: Any
    times: Any
    delays: Any


#: Columns of `Calls.comm`: members, its first row in `member`, ceil(log2 p), the ordinal of the
#: first call that is kept.
SIZE, BASE, STAGES, OLDEST = range(4)

#: Columns of `Calls.call`: members that have come, members from the first on that have, members
#: that have left, the root's place, whether ``VALUE`` is there.
CALL_ARRIVED, CALL_PREFIX, CALL_LEFT, CALL_ROOT, CALL_DONE = range(5)

#: Columns of `Calls.member`, and of `Calls.rows` (with ``START``, ``END`` and ``BYTES``).
RANK, ORDINAL = range(2)
HERE = 3

#: Columns of `Calls.delays`: on coming, what all stages add, on leaving, and room to compute it.
DELAY, COST, VALUE, SCRATCH = range(4)


class Calls(NamedTuple):
    """Collectives under way: a few of each communicator, a row for each member."""

    depth: int  #: how many calls of a communicator there is room for
    comm: Any
    member: Any
    call: Any
    rows: Any
    delays: Any
    hops: Any  #: by row, all or noise alone, and stage; only for butterflies


class Outcome(NamedTuple):
    """What is written down while delays pass."""

    ends: Any  #: delay of each end, a row for each row of the window, or none
