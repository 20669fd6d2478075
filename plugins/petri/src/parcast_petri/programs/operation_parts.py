"""Which transitions each operation of a program has in its net."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import CODE, Matched, matched_program
from parcast.program.source import SENDS
from parcast_petri.nets.arcs import Whole
from parcast_petri.options import Options
from parcast_petri.programs.all_messages import Messages, Reals
from parcast_petri.programs.charges import charged

Flags = NDArray[np.bool_]

#: The transitions that an operation may have, in their order.
WORK, LEAVE, MEET, START, CARRY, SENT, POST, CALL, TAKEN, TAKE = range(10)

#: Those that the process itself takes part in.
STEPS = (WORK, LEAVE, SENT, POST, CALL, TAKE)


@attrs.frozen(eq=False)
class Parts:
    """Which transitions each operation has, and where they stand."""

    program: Matched
    costs: Costs
    messages: Messages
    has: Sequence[Flags]  #: by part of an operation: which operations have it
    ranks: Whole  #: by operation
    seconds: Reals  #: by operation, of its process alone
    receiving: Reals  #: by operation: of its message, to take it
    waits: Flags  #: sends whose end somebody awaits
    inside: bool  #: whether startups are shared as bytes are

    @classmethod
    def of(cls, query: Query, options: Options) -> Parts:
        """Return the parts of a program's operations."""
        program = matched_program(query, pools=True)
        columns, matching = program.columns, program.matching
        costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
        messages = Messages.of(program, costs, query, options)
        count, op = len(columns.op), columns.op
        ranks = np.repeat(np.arange(len(columns.offsets) - 1), np.diff(columns.offsets))
        seconds = charged(columns, costs, ranks)[1]
        sends, late = columns.among(SENDS), columns.amount > costs.eager_limit
        meets = sends & (late | (costs.eager == "waits"))
        blocking = options.sends == "blocking"
        waits = sends & (late | (blocking & (op != CODE["isend"])))
        takes = columns.among({"recv", "irecv", "sendrecv"})
        source = matching.received_from
        posts = takes & (source >= 0) & meets[np.maximum(source, 0)]
        startup = np.zeros(count, bool)
        outside = options.startup != "inside"
        startup[sends] = (messages.group >= 0) & (messages.startup != 0) & outside
        receiving = np.broadcast_to(np.asarray(costs.receiving(columns.amount), float), count)
        has = {
            WORK: columns.among({"compute", "elapse"}),
            LEAVE: sends & (seconds != 0),
            MEET: meets,
            START: startup,
            CARRY: sends,
            SENT: waits & (op == CODE["send"]),
            POST: posts,
            CALL: (op == CODE["irecv"]) & (costs.overhead_receive != 0),
            TAKEN: op == CODE["sendrecv"],
            TAKE: columns.among({"recv", "sendrecv", "wait", "waitall"}),
        }
        parts = [has[part] for part in range(len(has))]
        inside = options.startup == "inside"
        return cls(program, costs, messages, parts, ranks, seconds, receiving, waits, inside)

    def requests(self) -> tuple[Whole, Whole, Flags, Flags]:
        """Return waits and their requests, and which are of messages to come, and sends to end."""
        columns, source = self.program.columns, self.program.matching.received_from
        wait, request = columns.wait_op, columns.wait_request
        arrives = source[request] >= 0
        return wait, request, arrives, ~arrives & self.waits[request]
