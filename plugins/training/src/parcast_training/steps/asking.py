"""What of a query decides a step: job, layout, kernels' rates and messages' costs."""

from __future__ import annotations

from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Accelerator, Costs, Query
from parcast_training.steps.checkpoint import checkpoint_share
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.layout import layout_of
from parcast_training.steps.memory import Memory, memory_of
from parcast_training.steps.segments import Hop, Hops
from parcast_training.steps.step import Step, step_of


def accelerator_of(query: Query) -> Accelerator:
    """Return the accelerator of a machine.

    Raises
    ------
    UnsupportedError
        If it has none.
    """
    accelerator = query.machine.accelerator
    if accelerator is None:
        raise UnsupportedError(
            f"machine {query.machine.name!r} states no [accelerator], which kernels of a training "
            "step need; 'parcast show accelerator' lists its keys"
        )
    return accelerator


def check_placement(query: Query) -> None:
    """Refuse where processes and accelerators do not go together one by one, node after node.

    Raises
    ------
    UnsupportedError
        If a node has more or fewer processes than accelerators, or ranks go to nodes in turn.
    """
    accelerator, cores = accelerator_of(query), query.machine.nodes.cores
    if cores != accelerator.per_node:
        raise UnsupportedError(
            f"a training step has a process for each accelerator, and machine "
            f"{query.machine.name!r} has nodes of {cores} cores and {accelerator.per_node} "
            f"accelerators; set nodes.cores={accelerator.per_node}"
        )
    if query.mapping != "block":
        raise UnsupportedError(
            "a training step's ranks fill one node after another; leave out --mapping, or name "
            "another family, which plays the step as a program"
        )


def step_at(query: Query) -> Step:
    """Return the step of a query.

    Raises
    ------
    InvalidPointError
        If the layout cannot be.
    UnsupportedError
        If the machine lacks what a step needs.
    """
    check_placement(query)
    job, accelerator = job_at(query), accelerator_of(query)
    layout = layout_of(job, query.p)
    hops = hops_of(query)
    share = checkpoint_share(query)
    return step_of(job, layout, accelerator, hops, accelerator.per_node, share)


def hops_of(query: Query) -> Hops:
    """Return what messages cost on a query's machine, without contention."""
    costs = Costs.of(query, {"messages"}, follows=WHOLE_NETWORK)
    costs_of: dict[tuple[int, int, float], Hop] = {}

    def hop(src: int, dst: int, size: float) -> Hop:
        key = (src, dst, size)
        if key not in costs_of:
            send, wire = float(costs.sending(size)), float(costs.wire(src, dst, size))
            costs_of[key] = Hop(send, wire, float(costs.receiving(size)))
        return costs_of[key]

    return hop


def too_large(memory: Memory, capacity: float) -> str | None:
    """Return why a step does not fit an accelerator's memory, None if it does."""
    if memory.total <= capacity:
        return None
    parts = ", ".join(
        f"{name} {getattr(memory, name) / 1e9:.1f}"
        for name in ("weights", "gradients", "optimizer", "activations")
    )
    return (
        f"a rank needs {memory.total / 1e9:.1f} GB ({parts}), and an accelerator has "
        f"{capacity / 1e9:.1f} GB"
    )


def memory_at(query: Query) -> Memory:
    """Return what the fullest rank of a query's step holds."""
    job = job_at(query)
    return memory_of(job, layout_of(job, query.p))
