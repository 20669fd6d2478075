"""A query's program made ready for solvers: unrolled, its messages matched, once for all."""

from __future__ import annotations

import math
from hashlib import sha256

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.answers import Answers
from parcast.model.machine import Network
from parcast.model.placement import place
from parcast.model.query import Query
from parcast.program.matching.collectives import UNNAMED, Algorithms, placed
from parcast.program.matching.collectives.handling import ToItself
from parcast.program.matching.deadlock import Matched, match_unrolled
from parcast.program.unroll.offloading import timed_on_accelerators

#: The latest programs; several solvers are asked about each in turn.
_PREPARED = Answers(2)

#: Seconds to make an operation ready: on one core of a server of 2023.
PREPARATION = 6e-7


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
    sends = "mpich" in text or "scattered" in text
    return (*stated, ToItself.of(network) if sends else None)


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
