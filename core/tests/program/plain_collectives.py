"""Collectives by name, and what they promise: a plain reference."""

from .plain_exchanges import (
    all_posted,
    allgather_bruck,
    allgather_doubling,
    allgather_posted,
    allgather_ring,
    barrier_doubling,
    butterfly,
    modified_bruck,
    neighbor,
    pairwise_exchange,
    rabenseifner,
    rabenseifner_reduce,
    recursive_doubling,
    recursive_halving,
    scan_doubling,
    scattered,
)
from .plain_processes import (
    power_of,
)
from .plain_trees import (
    asked_in_turn,
    binomial_bcast,
    binomial_reduce,
    gather_bcast,
    linear_bcast,
    linear_reduce,
    linear_scatter,
    linear_there_and_back,
    reduce_at_once,
    reduce_bcast,
    reduce_scatter_ring,
    reduce_scatterv,
    scatter_allgather,
    scatter_at_once,
    scatter_ring_allgather,
    split_binary,
    there_and_back_at_once,
    tree,
    up,
)

#: The algorithm of each collective by its name.
PLAIN = {
    ("barrier", "recursive-doubling"): barrier_doubling,
    ("barrier", "tree"): reduce_bcast,
    ("barrier", "linear"): linear_there_and_back,
    ("barrier", "linear-nb"): there_and_back_at_once,
    **{("bcast", name): tree(name) for name in ("bmtree", "knomial", "binary", "chain")},
    ("bcast", "split-binary"): split_binary,
    ("bcast", "scatter-allgather"): scatter_allgather,
    ("bcast", "scatter-ring-allgather"): scatter_ring_allgather,
    ("bcast", "binomial"): binomial_bcast,
    ("bcast", "linear"): linear_bcast,
    **{("reduce", name): up(name) for name in ("binary", "in-order-binary", "chain")},
    ("reduce", "rabenseifner"): rabenseifner_reduce,
    ("reduce", "binomial"): binomial_reduce,
    ("reduce", "linear"): linear_reduce,
    ("reduce", "linear-nb"): reduce_at_once,
    ("gather", "linear"): linear_reduce,
    ("gather", "linear-nb"): reduce_at_once,
    ("gather", "binomial"): binomial_reduce,
    ("gather", "linear-sync"): asked_in_turn,
    ("scatter", "linear"): linear_scatter,
    ("scatter", "linear-nb"): scatter_at_once,
    ("allreduce", "recursive-doubling"): recursive_doubling,
    ("allreduce", "rabenseifner"): rabenseifner,
    ("allreduce", "tree"): reduce_bcast,
    ("allreduce", "reduce-bcast"): reduce_bcast,
    ("allreduce", "linear"): linear_there_and_back,
    ("allgather", "ring"): allgather_ring,
    ("allgather", "bruck"): allgather_bruck,
    ("allgather", "recursive-doubling"): allgather_doubling,
    ("allgather", "linear"): allgather_posted,
    ("allgather", "neighbor"): neighbor,
    ("allgather", "gather-bcast"): gather_bcast,
    ("alltoall", "modified-bruck"): modified_bruck,
    ("alltoall", "pairwise-exchange"): pairwise_exchange,
    ("alltoall", "linear"): all_posted,
    ("alltoall", "scattered"): scattered,
    ("reduce_scatter", "ring"): reduce_scatter_ring,
    ("reduce_scatter", "recursive-halving"): recursive_halving,
    ("reduce_scatter", "butterfly"): butterfly,
    ("reduce_scatter", "reduce-scatterv"): reduce_scatterv,
    ("scan", "recursive-doubling"): scan_doubling,
}


def blocks_of(op, name, p):
    """In how many blocks the bytes of one process are cut."""
    if "rabenseifner" in name:
        return power_of(p)
    if name.startswith("scatter-"):
        return p
    return 2 if name == "split-binary" else 1


def before(op, cuts, p, r, root):
    """What a process has at first."""
    own = frozenset([r])
    match op:
        case "bcast":
            return dict.fromkeys(range(cuts), own) if r == root else {}
        case "scatter":
            return dict.fromkeys(range(p), own) if r == root else {}
        case "gather" | "allgather" | "allgatherv":
            return {r: own}
        case "alltoall" | "alltoallv":
            return {(r, to): own for to in range(p)}
        case "reduce_scatter":
            return dict.fromkeys(range(p), own)
    return dict.fromkeys(range(cuts), own)


def holds(op, cuts, p, r, root, have):
    """Whether a process ends with what the collective promises."""
    everyone = frozenset(range(p))
    match op:
        case "bcast":
            return have == dict.fromkeys(range(cuts), frozenset([root]))
        case "scatter":
            return have.get(r) == frozenset([root])
        case "gather":
            return r != root or have == {k: frozenset([k]) for k in range(p)}
        case "allgather" | "allgatherv":
            return have == {k: frozenset([k]) for k in range(p)}
        case "alltoall" | "alltoallv":
            return have == {(k, r): frozenset([k]) for k in range(p)}
        case "reduce":
            return r != root or have == dict.fromkeys(range(cuts), everyone)
        case "reduce_scatter":
            return have == {r: everyone}
        case "scan":
            return have == {0: frozenset(range(r + 1))}
    return have == dict.fromkeys(range(cuts), everyone)
