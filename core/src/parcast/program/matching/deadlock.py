"""Deadlock: whether all processes reach their end, operation by operation, and who does not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError
from parcast.program.matching.channels import Matching
from parcast.program.matching.columns import CODE, NONE, OPS, Columns, Ids, attended
from parcast.program.matching.dry_run import sweep
from parcast.program.matching.wavefront import Needs, stuck_in
from parcast.program.source.operations import ANY, SENDS


def check_ends(table: Columns, matching: Matching, eager_limit: float) -> None:
    """Refuse a program whose processes wait for each other for ever.

    Raises
    ------
    InvalidPointError
        Some of those that wait, with their lines.
    """
    if matching.timed():
        stuck = np.array(sweep(table, eager_limit), np.int64)
        if len(stuck):
            late = table.among(SENDS)[stuck] & (table.amount[stuck] > eager_limit)
            raise InvalidPointError(_deadlock(table, stuck, late, eager_limit))
        return
    needed = needs(table, matching, eager_limit).sorted()
    cycle = stuck_in(needed, table.offsets)
    if len(cycle):
        waiting, rendezvous = needed.waiting[cycle], needed.rendezvous[cycle]
        raise InvalidPointError(_deadlock(table, waiting, rendezvous, eager_limit))


def runs_in_block_order(table: Columns, matching: Matching, eager_limit: float) -> bool:
    """Return whether the order of the blocks is an order in which all processes can run."""
    return not matching.timed() and in_block_order(table, needs(table, matching, eager_limit))


def needs(table: Columns, matching: Matching, eager_limit: float) -> Needs:
    """Return all that operations wait for, where no `recv(ANY)` is."""
    waits, requests = table.wait_op, table.wait_request
    late = table.amount > eager_limit
    kinds = table.op[requests]
    arrive = np.flatnonzero(table.among({"recv", "sendrecv"}))
    leave = np.flatnonzero(table.among({"send", "sendrecv"}) & late)
    receives, sends = kinds == CODE["irecv"], (kinds == CODE["isend"]) & late[requests]
    met = matching.received_from, matching.sent_to
    asking, asked = attended(table)
    needed = [
        *(met[0][arrive], met[0][requests[receives]], asked),
        *(met[1][leave], met[1][requests[sends]]),
    ]
    waiting = [arrive, waits[receives], asking, leave, waits[sends]]
    rendezvous = np.repeat([False, False, False, True, True], [len(part) for part in needed])
    return Needs(np.concatenate(waiting), np.concatenate(needed), rendezvous)


def in_block_order(table: Columns, waits: Needs) -> bool:
    """Return whether all that is needed starts in an earlier block, or in one exchange."""
    waiting_at, needed_at = table.order[waits.waiting], table.order[waits.needed]
    exchange = table.among({"sendrecv", "pool"})[waits.waiting]
    # in one block all exchanges start together; one block has one operation
    return bool(np.all((needed_at < waiting_at) | ((needed_at == waiting_at) & exchange)))


def _deadlock(table: Columns, stuck: Ids, late: NDArray[np.bool_], eager_limit: float) -> str:
    """Return the sentence about processes that wait for each other."""
    p = len(table.offsets) - 1
    examples = [f"rank {table.rank_of(x)} in {_doing(table, x)}" for x in stuck[:4].tolist()]
    others = f" and {len(stuck) - 4} more" if len(stuck) > 4 else ""
    who = "a process waits for itself" if len(stuck) == 1 else "processes wait for each other"
    if p == 1:
        hint = "put messages under `if size > 1`"
    elif late.any():
        hint = (
            f"a message above network.eager_limit = {eager_limit:.15g} B waits for its receive: "
            "use sendrecv or isend, smaller messages or a larger network.eager_limit"
        )
    else:
        hint = "let each message be sent before its sender waits for the receiver"
    return (
        f"{table.line(int(stuck[0]))}: at p={p} the program never ends, for {who}: "
        f"{', '.join(examples)}{others}; {hint}"
    )


def _doing(table: Columns, x: int) -> str:
    """Return an operation as its program says it, and its line."""
    name, dst, src = OPS[table.op[x]], int(table.dst[x]), int(table.src[x])
    at = table.line(x)
    if table.tag[x] < 0:  # a message of a collective
        return f"{table.unrolled.sites[table.site[x]].name} ({at})"
    to = f" to {dst}" * (dst != NONE)
    source = f" from {'ANY' if src == ANY else src}" * (src != NONE)
    return f"{name}{to}{source} ({at})"
