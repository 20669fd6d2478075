"""A program with all of it fixed that timing decides, for solvers that follow fixed programs.

Who takes which task of a pool, which message a ``recv(ANY)`` takes, and how long each access to
files waits for its disk, are those of the plain run on the machine
(`parcast.program.reference.process_sweep`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import attrs

from parcast.model.costs import Costs
from parcast.program.reference.process_sweep import steps_of
from parcast.program.reference.processes import Step
from parcast.program.source.operations import ANY
from parcast.program.unroll.blocks import Block, Operation, Unrolled

#: Operations whose time depends on what others do at the same time.
_TIMED = frozenset({"read", "write", "pool"})


def is_decided_by_timing(unrolled: Unrolled) -> bool:
    """Tell whether a program has tasks of a pool, receives from ``ANY``, or access to files."""
    return bool(unrolled.pools) or any(
        block.op in _TIMED or _takes_any(block) for block in unrolled.blocks
    )


def _takes_any(block: Block) -> bool:
    source = block.arguments.get("src")
    return isinstance(source, int) and source == ANY


@attrs.frozen(eq=False)
class Frozen:
    """A program in which nothing is left to timing."""

    unrolled: Unrolled
    was: tuple[str, ...]  #: what each operation was before, rank after rank
    took_any: tuple[bool, ...]  #: whether it took whichever message was there first


def frozen(unrolled: Unrolled, costs: Costs, timed: Collection[str] = _TIMED) -> Frozen:
    """Return a program in which nothing is left to timing, and which takes as long here.

    Access to files, and what it takes to fetch a task, become ``elapse``; what a master receives
    and sends become receives and sends with a partner.

    Parameters
    ----------
    unrolled
        A program whose collectives are expanded.
    costs
        What the machine charges.
    timed
        Operations that become ``elapse``; all others stay.

    Raises
    ------
    InvalidPointError
        If processes wait for each other for ever.
    """
    processes = [
        [step for step in steps if step.operation.op != "pool" or step.seconds]
        for steps in steps_of(unrolled, costs)
    ]
    lists = [list(_fixed(steps, timed)) for steps in processes]
    operations = [step.operation for steps in processes for step in steps]
    return Frozen(
        Unrolled.of_ranks(lists, unrolled.sites, unrolled.where),
        tuple(operation.op for operation in operations),
        tuple(operation.arguments.get("src") == ANY for operation in operations),
    )


def _fixed(steps: Sequence[Step], timed: Collection[str]) -> Iterator[Operation]:
    positions = {step.order: position for position, step in enumerate(steps)}
    for step in steps:
        operation = step.operation
        if operation.op in timed:
            yield Operation(operation.site, "elapse", {"seconds": step.seconds})
        elif operation.arguments.get("src") == ANY:
            yield Operation(
                operation.site, operation.op, {**operation.arguments, "src": step.source}
            )
        else:
            requests = tuple(positions[request] for request in operation.requests)
            yield Operation(operation.site, operation.op, operation.arguments, requests)
