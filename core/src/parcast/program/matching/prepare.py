"""A query's program made ready for solvers: unrolled, its messages matched, once for all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256

import attrs

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.answers import Answers
from parcast.model.machine import Network
from parcast.model.placement import place
from parcast.model.query import Query
from parcast.program.matching.blockwise import ends_in_block_order
from parcast.program.matching.channels import Matching, match
from parcast.program.matching.collectives import UNNAMED, Algorithms, placed
from parcast.program.matching.collectives.handling import ToItself
from parcast.program.matching.columns import Columns, operation_columns
from parcast.program.matching.deadlock import check_ends, runs_in_block_order
from parcast.program.matching.expansion import Collective, expand, find_collectives
from parcast.program.matching.tasks import check_tasks
from parcast.program.unroll.blocks import Unrolled, is_collective
from parcast.program.unroll.offloading import timed_on_accelerators

#: Operations of programs that are kept: some 200 bytes each.
_KEPT = 500_000

#: What a program takes beside its operations is as much as of so many.
_OF_PROGRAM = 500

#: Seconds to make an operation ready: on one core of a server of 2023.
PREPARATION = 6e-7


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


def _size(prepared: Matched | InvalidPointError) -> int:
    """Return the operations that a program is kept as; what has no meaning has none of its own."""
    own = prepared.unrolled.count() if isinstance(prepared, Matched) else 0
    return own + _OF_PROGRAM


#: The latest programs; several solvers are asked about each point in turn, and again for each
#: number of the machine.
_PREPARED = Answers(2, size=_size, room=_KEPT)


def matched_program(query: Query, *, pools: bool = False, timed: bool = True) -> Matched:
    """Return the operations and the messages of a ``program`` query.

    Collectives are expanded by the algorithms that the machine names, and messages over its
    eager limit wait for their receives. Who follows tasks of a pool asks with ``pools``.
    Computations on accelerators elapse, in the seconds that they take, unless not ``timed``.

    Raises
    ------
    UnsupportedError
        If there are tasks of a pool without, or computations that the machine's accelerators
        cannot do.
    InvalidPointError
        If the program has no meaning at this point; ranks and lines are named.
    """
    program, network = query.workload.content, query.machine.network
    values = tuple(item for item in query.values.items() if item[0] != "d")
    stated = (network.collectives, query.machine.storage.aggregators, *_handling(network))
    chosen = UNNAMED if all(key is None for key in stated) else placed(query)
    places = tuple(
        sha256(instances.tobytes()).hexdigest()
        for instances in (chosen.nodes, *chosen.levels)
        if instances is not None
    )
    sources = (
        *(program, query.p, values, network.eager_limit, places, *stated),
        _accelerators(query) if timed and program.offloads else None,
    )
    prepared = _PREPARED.once(sources, lambda: _prepare(query, chosen, timed=timed))
    if isinstance(prepared, InvalidPointError):
        raise InvalidPointError(*prepared.args)
    if prepared.native.pools and not pools:
        site = next(block.site for block in prepared.native.blocks if block.op == "pool")
        raise UnsupportedError(
            f"{prepared.native.line(site)}: tasks of a pool go to whichever process is "
            "free, which this solver does not model; use another family or assign them in order"
        )
    return prepared


def _handling(network: Network) -> tuple[object, ...]:
    """Return what a network says of bytes that processes handle themselves, None for each if not.

    What a message to oneself takes counts where an algorithm sends one.
    """
    stated = network.reduction_bandwidth, network.copy_bandwidth, network.own_bandwidth
    text = network.collectives or ""
    if "mpich" not in text and "scattered" not in text:
        return stated
    # numbers, since equal objects would be other sources
    return (*stated, attrs.astuple(ToItself.of(network)))


def conversion_cost(query: Query, seconds: float) -> float:
    """Return the seconds of turning a program into another kind, by those for an operation.

    Who asks again for another machine has a program with work on accelerators made ready again,
    since that takes other times.
    """
    if query.workload.content.offloads:
        seconds += PREPARATION
    return seconds * matched_program(query, pools=True).unrolled.count()


def _accelerators(query: Query) -> object:
    """Return what of the machine decides how long computations on accelerators take."""
    accelerator = query.machine.accelerator
    if accelerator is None:
        return ""
    turns = place(query).turns(accelerator.per_node)
    return accelerator, sha256(turns.tobytes()).hexdigest()


def _prepare(query: Query, chosen: Algorithms, *, timed: bool) -> Matched | InvalidPointError:
    """Return the program, or why it has no meaning here, which takes as long to find out."""
    network = query.machine.network
    limit = math.inf if network.eager_limit is None else network.eager_limit
    try:
        unrolled = query.workload.content.at(query)
        if timed and query.workload.content.offloads:
            unrolled = timed_on_accelerators(unrolled, query)
        return match_unrolled(unrolled, chosen, limit)
    except InvalidPointError as error:
        return error.with_traceback(None)  # no frame keeps what was unrolled


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
    native = Matched(unrolled, algorithms, []) if calls else program
    accepted = runs_in_block_order(native.columns, native.matching, eager_limit)
    if not (in_blocks and accepted):
        check_ends(program.columns, program.matching, eager_limit)
    return program
