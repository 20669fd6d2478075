"""A query's program made ready for solvers: unrolled, its messages matched, once for all."""

from __future__ import annotations

import math
from typing import Any

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.query import Query
from parcast.program.matching.collectives import placed
from parcast.program.matching.deadlock import Matched, match_unrolled

#: How many programs are kept; several solvers are asked about each in turn.
_CACHED = 2

_prepared: dict[Any, Matched | InvalidPointError] = {}


def matched_program(query: Query, *, pools: bool = False) -> Matched:
    """Return the operations and the messages of a ``program`` query.

    Collectives are expanded by the algorithms that the machine names, and messages over its
    eager limit wait for their receives. Who follows tasks of a pool asks with ``pools``.

    Raises
    ------
    UnsupportedError
        If there are tasks of a pool without.
    InvalidPointError
        If the program has no meaning at this point; ranks and lines are named.
    """
    program, network = query.workload.content, query.machine.network
    # by their text: 1 and 1.0 are equal, but no program takes one for the other
    values = tuple((name, repr(value)) for name, value in query.values.items() if name != "d")
    chosen = placed(query)
    where = tuple(
        instances.tobytes() for instances in (chosen.nodes, *chosen.levels) if instances is not None
    )
    key = (program, query.p, values, network.collectives, network.eager_limit, where)
    prepared = _prepared.get(key)
    if prepared is None:
        for old in list(_prepared)[: 1 - _CACHED]:  # before memory is needed for the next
            _prepared.pop(old, None)
        limit = math.inf if network.eager_limit is None else network.eager_limit
        try:
            prepared = match_unrolled(program.at(query), chosen, limit)
        except InvalidPointError as error:
            prepared = error.with_traceback(None)  # no frame keeps what was unrolled
        _prepared[key] = prepared
    if isinstance(prepared, InvalidPointError):
        raise InvalidPointError(*prepared.args)
    if prepared.native.pools and not pools:
        site = next(block.site for block in prepared.native.blocks if block.op == "pool")
        raise UnsupportedError(
            f"{prepared.native.line(site)}: tasks of a pool go to whichever process is "
            "free, which this solver does not model; use another family or assign them in order"
        )
    return prepared
