"""What the solvers cost and take for granted, told without solving: for ``parcast advise``.

The seconds are measured: on one core of a server of 2023, rounded up.
"""

from __future__ import annotations

from collections.abc import Iterator

from parcast import Assumption, Query
from parcast.program.matching import matched_program
from parcast_emulator.emulators.of_program import Processes
from parcast_emulator.hardware import cluster_of
from parcast_emulator.program_run import why_not_compiled

#: Seconds for an operation by compiled kernels and one by one, and to load what is compiled.
_COMPILED, _INTERPRETED, _LOADED = 5e-7, 8e-5, 0.1

#: Operations of emulated applications are counted so far.
_COUNTED = 1_000_000


def of_blocks(query: Query) -> float | None:
    """Return the seconds that passing all blocks takes; None where they are very many."""
    count = _operations(query)
    return None if count is None else _LOADED + _COMPILED * count


def of_calls(query: Query) -> float | None:
    """Return the seconds that playing all calls takes; None where they are very many."""
    content = query.workload.content
    if isinstance(content, Processes):
        program_query = content.as_program(query)
        per_operation = _COMPILED if why_not_compiled(program_query) is None else _INTERPRETED
        return _LOADED + per_operation * matched_program(program_query, pools=True).unrolled.count()
    count = _operations(query)
    return None if count is None else _INTERPRETED * count


def _operations(query: Query) -> int | None:
    total = 0
    for blocks in query.workload.content.epochs(query, cluster_of(query)):
        total += blocks.operations()
        if total > _COUNTED:
            return None
    return total


def assumptions(query: Query) -> Iterator[Assumption]:
    """Yield what servers in line take for granted, beside what an answer says itself."""
    if isinstance(query.workload.content, Processes):
        yield Assumption("every server takes first what came first")
    elif query.machine.network.contention == "bus":
        yield Assumption("messages meet at the ports of nodes only", "the network is one bus")
    yield Assumption("no block is cached: what is read twice comes from its disk twice")
