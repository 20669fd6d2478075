"""What MPICH 4 chooses.

The rules within one communicator are those of ``maint/tuning/coll/mpir/generic.json``, and of
which collectives follow the nodes those of ``maint/tuning/coll/ch4/generic.json`` for the device
ch4; both are the same in MPICH 4.1.2, 4.2.3 and 4.3.2. An element has 8 bytes; operations are
MPI's own. The scan that follows nodes is left out, and so is memory that a node shares: within a
node as between nodes the same rules choose.
"""

from __future__ import annotations

_ELEMENT = 8  # bytes: double

_BCAST_SHORT, _BCAST_LONG = 12288, 524288
_REDUCE_SHORT, _ALLREDUCE_SHORT = 2048, 8
_ALLGATHER_SHORT, _ALLGATHER_LONG = 81920, 524288
_REDUCE_SCATTER_LONG = 524288
_ALLTOALL_SHORT, _ALLTOALL_MEDIUM = 256, 32768
_FEW = 8  # processes

_FIXED = {
    "barrier": "dissemination",
    "gather": "binomial",
    "scatter": "binomial",
    "gatherv": "linear",
    "scatterv": "linear",
    "scan": "recursive-doubling",
    "alltoallv": "scattered",
}


def algorithm(op: str, size: int, n: float) -> str:
    """Return the algorithm for ``size`` processes and ``n`` bytes."""
    if op in _FIXED:
        return _FIXED[op]
    return {
        "bcast": _bcast,
        "allreduce": _allreduce,
        "reduce": _reduce,
        "allgather": _allgather,
        "allgatherv": _allgather,
        "reduce_scatter": _reduce_scatter,
        "alltoall": _alltoall,
    }[op](size, n)


def follows_nodes(op: str, size: int, n: float) -> bool:
    """Return whether a collective is one within nodes and one between them."""
    if op == "bcast":
        longest = _BCAST_LONG if _power_of_two(size) else _BCAST_SHORT
        return size < _FEW or n < longest
    return op in {"allreduce", "reduce", "barrier"}


def _power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


def _fewer_elements_than_processes(size: int, n: float) -> bool:
    return n / _ELEMENT < 1 << (size.bit_length() - 1)


def _bcast(size: int, n: float) -> str:
    if size < _FEW or n <= _BCAST_SHORT:
        return "binomial"
    medium = _power_of_two(size) and n <= _BCAST_LONG
    return "scatter-allgather" if medium else "scatter-ring-allgather"


def _allreduce(size: int, n: float) -> str:
    short = n <= _ALLREDUCE_SHORT or _fewer_elements_than_processes(size, n)
    return "recursive-doubling" if short else "rabenseifner"


def _reduce(size: int, n: float) -> str:
    short = n <= _REDUCE_SHORT or _fewer_elements_than_processes(size, n)
    return "binomial" if short else "rabenseifner"


def _allgather(size: int, n: float) -> str:
    if _power_of_two(size):
        return "recursive-doubling" if n * size < _ALLGATHER_LONG else "ring"
    return "bruck" if n * size < _ALLGATHER_SHORT else "ring"


def _reduce_scatter(size: int, n: float) -> str:
    return "recursive-halving" if n * size < _REDUCE_SCATTER_LONG else "pairwise"


def _alltoall(size: int, n: float) -> str:
    if size >= _FEW and n <= _ALLTOALL_SHORT:
        return "modified-bruck"
    return "scattered" if n <= _ALLTOALL_MEDIUM else "pairwise-exchange"
