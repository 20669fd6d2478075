"""What the kernel reads and keeps: named tuples of a few tables, as numba takes them.

Tables have a row for each event, rank, record and so on, and a column for each constant named
beside them. The last axis of delays is the replications.
"""

from __future__ import annotations

from typing import Any, NamedTuple

#: How an edge's slack is known. ``UPPER``: where it is unknown it is 0; ``LOWER``: it is
#: unlimited; ``CLOCKED``: the clocks say it; ``PAPER``: there is none at all.
UPPER, LOWER, CLOCKED, PAPER = range(4)

#: Why the kernel returns: nobody can go on, it needs more records, or enough is done for now.
ENDED, NEEDS_RECORDS, PAUSED = range(3)

ABSENT = -1

#: What is added to, as rows of `Deltas.constant`: calls, gaps, messages, bytes.
NOISE, GAP, LATENCY, PER_BYTE = range(4)


class Table(NamedTuple):
    """A trace, as `parcast_traces.trace.columns.Events` has it."""

    whole: Any
    times: Any
    slots: Any
    offsets: Any
    calls: Any  #: of each event, or of none: what its call costs, and the receipt of its message


class Deltas(NamedTuple):
    """What is added, in ticks."""

    constant: Any  #: [what, rank, replication]; one rank or replication may stand for all
    law: Any  #: [what, rank]: a row of ``pool``, or ``ABSENT``
    pool: Any  #: values that are equally likely, 65,536 of each law
    seed: int
    extra_row: Any  #: events before which more is added, rising
    extra: Any  #: [index in ``extra_row``, replication]; one replication may stand for all
    event: Any  #: of each event, or of none: added to its call, message and receipt
    message_costs: (
        Any  #: of each event, or of none: latency and time of a byte of its message as recorded
    )
    least_latency: float  #: the least that may be added: minus what there is
    least_per_byte: float


class Rules(NamedTuple):
    """How edges behave, and what of the recording machine is known."""

    policy: int
    rendezvous: bool  #: a late message flies once its receive is posted; else it is acknowledged
    butterfly: bool  #: collectives take the maximum at every stage
    modeled: bool  #: see `Trace.modeled`
    equation_2: bool  #: waits for messages that do not block end by the paper's equation (2)
    eager_max: float  #: a larger message's sender waits
    early_max: float  #: a larger message flies once its receive is posted
    overhead: float
    overhead_per_byte: float
    overhead_receive: float
    latency: float  #: of the recording machine
    per_byte: float
    quantum: int  #: how far a rank may run ahead


#: Columns of `State.rank`: the event that a rank is at, whether it has started it, the record
#: of a message it sends and of its receive or collective, whether it is in the queue (1) or
#: among those ahead (2), its first request, the record it waits for, and how many of those that
#: its call waits for are known to be there.
CURSOR, ENTERED, SENDING, RECEIVING, QUEUED, REQUESTS, AWAITS, SATISFIED = range(8)

#: Columns of `Deltas.event`.
CALL_ADDS, MESSAGE_ADDS, RECEIPT_ADDS = range(3)

#: Columns of `State.delay`: delays of the start, of the latest end, of what is waited for, and
#: what is added to the call, before it sends and after it has received.
BEGUN, DELAY, AWAITED, ADDED, AFTER = range(5)

#: Columns of `State.request`: what it waits for, its record and the event that opened it.
REQUEST_KIND, REQUEST_RECORD, OPENER = range(3)
NOTHING, ARRIVAL, RELEASE, CALL = range(4)

#: Columns of `State.channel`: the first and last record without its other side, whether these
#: are receives, the rank that probes.
HEAD, TAIL, HOLDS_POSTS, PROBING = range(4)

#: Columns of `State.comm` and `State.member`.
SIZE, BASE, STAGES = range(3)
RANK, AT_CALL = range(2)

#: Columns of `State.record`. Of a message and its receive: ``SIDES`` 1 sent, 2 posted, 3 both;
#: ``LATE``: it waits for its receive, or its sender for the receiver; ``ARRIVED`` and
#: ``RELEASED``: that is known; ``HOLDERS``: how many still need it; whom to wake; its receive, and
#: what decided when it arrived and let its sender go (see `Outcome.cause`). Of a call: how many
#: members have come, whether the root is one, a chain of theirs. Of one of these: its position.
NEXT, HOLDERS, EVENT, SENDER, RECEIVER, SIDES, LATE, BLOCKING, ARRIVED, RELEASED = range(10)
POST, ARRIVED_BY, RELEASED_BY = 10, 11, 12
RECORD = 13  #: columns
CAME, ROOT_CAME, CHAIN, FOLDED = 5, 6, 7, 8
POSITION = 5

#: Columns of `State.record_time` and `State.record_delay` (by ``ARRIVAL`` and ``RELEASE`` too).
SENT, POSTED, LENGTH = 0, 3, 4
TOGETHER, VALUE, SCRATCH, STAGED = range(4)

#: Places in `State.counters`: the queue's head and length, how many are ahead, how far ranks
#: may run, the first free record and how many there are.
QUEUE_HEAD, QUEUE_LENGTH, AHEAD, TARGET, FREE, FREE_COUNT = range(6)

#: Columns of `State.changes`: of how much later a rank was, what calls absorbed and what they made.
ABSORBED, CREATED = range(2)


class State(NamedTuple):
    """Where everything stands."""

    rank: Any
    delay: Any  #: [rank, column, replication]
    request: Any
    queue: Any  #: a ring of ranks that may run
    ahead: Any  #: ranks that have run far enough
    counters: Any
    channel: Any
    comm: Any
    member: Any
    record: Any  #: messages, receives and collective calls
    record_time: Any  #: [record, column]
    record_delay: Any  #: [record, column, replication]
    order: Any  #: records by position, while a butterfly is computed
    changes: Any  #: [site, then rank; column], sums over events and replications
    clipped: Any  #: how often less was subtracted than stated, by what


class Outcome(NamedTuple):
    """What is written down of every event, or nothing."""

    ends: Any  #: [event, replication], the delay of each end
    cause: Any  #: what decided it: an event times ``CAUSES``, and one of these


#: What decides an end: the rank's own way; the event's message; its end, acknowledged; its
#: message, acknowledged; its start, that lets a message fly; its coming to a collective.
BY_ITSELF, BY_MESSAGE, BY_END, BY_BOTH, BY_POST, BY_COMING = range(6)
CAUSES = 8
