"""Deadlock: whether all processes of a program reach its end, found before any solver runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import InvalidPointError
from parcast.program.matching.blockwise import ends_in_block_order
from parcast.program.matching.channels import Matching, match
from parcast.program.matching.columns import (
    CODE,
    NONE,
    OPS,
    Columns,
    Ids,
    attended,
    operation_columns,
)
from parcast.program.matching.dry_run import sweep
from parcast.program.matching.expansion import Collective, expand, find_collectives
from parcast.program.matching.tasks import check_tasks
from parcast.program.matching.wavefront import Needs, stuck_in
from parcast.program.source.operations import ANY, SENDS
from parcast.program.unroll.blocks import Unrolled, is_collective


@attrs.frozen(eq=False)
class Matched:
    """A program whose messages all arrive; what is made of it is made when first asked for."""

    native: Unrolled = attrs.field(repr=False)
    algorithms: Mapping[str, str]
    calls: Sequence[Collective] = attrs.field(repr=False)  #: its collectives

    @cached_property
    def unrolled(self) -> Unrolled:
        """The program with its collectives expanded."""
        return expand(self.native, self.algorithms, self.calls) if self.calls else self.native

    @cached_property
    def columns(self) -> Columns:
        """The columns of the expanded program."""
        return operation_columns(self.unrolled)

    @cached_property
    def matching(self) -> Matching:
        """The partners of the messages of the expanded program."""
        return match(self.columns)


def match_unrolled(
    unrolled: Unrolled, algorithms: Mapping[str, str], eager_limit: float
) -> Matched:
    """Return a program's messages; refuse one that has no end at this limit of eager messages.

    Raises
    ------
    InvalidPointError
        If a collective is not complete or consistent, if a message or a receive has no
        partner, or if processes wait for each other for ever.
    """
    if unrolled.pools:
        check_tasks(unrolled, eager_limit)
    calls = find_collectives(unrolled) if any(map(is_collective, unrolled.blocks)) else []
    program = Matched(unrolled, algorithms, calls)
    in_blocks = all(len(call) == 1 for call in calls)
    if in_blocks and ends_in_block_order(unrolled, eager_limit):
        return program
    # always asked: it tells what has no partner before there are messages of collectives
    accepted = _accepted(program if not calls else None, unrolled, eager_limit)
    if in_blocks and accepted:
        return program
    if program.matching.timed():
        stuck = np.array(sweep(program.columns, eager_limit), np.int64)
        if len(stuck):
            late = program.columns.among(SENDS)[stuck] & (
                program.columns.amount[stuck] > eager_limit
            )
            raise InvalidPointError(_deadlock(program.columns, stuck, late, eager_limit))
        return program
    needed = needs(program.columns, program.matching, eager_limit).sorted()
    cycle = stuck_in(needed, program.columns.offsets)
    if len(cycle):
        sentence = _deadlock(
            program.columns, needed.waiting[cycle], needed.rendezvous[cycle], eager_limit
        )
        raise InvalidPointError(sentence)
    return program


def _accepted(same: Matched | None, unrolled: Unrolled, eager_limit: float) -> bool:
    """Return whether the order of the blocks is an order in which all processes can run.

    ``same`` holds the columns where there is nothing to expand.
    """
    table = same.columns if same else operation_columns(unrolled)
    matching = same.matching if same else match(table)
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
