"""What Open MPI 4.1 and 5.0 choose in their component ``coll/tuned``.

The tables are those of ``ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`` for operations that
commute, equal in 4.1.6 and 5.0.0 to 5.0.9: below so many processes, an algorithm below so many
bytes and so on. That call passes no sizes of segments, so messages are whole and a pipeline is a
chain; what an algorithm does with fewer elements than processes is that of ``coll/base``. An
element has 8 bytes. ``scan``, ``gatherv`` and ``scatterv`` are those of ``coll/base``. Nodes are
followed by another component, ``coll/han``, which is not this one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache

_ELEMENT = 8  # bytes: double

_FIXED = {"scan": "linear", "gatherv": "linear", "scatterv": "linear"}

#: An algorithm and below how many bytes it is taken, again and again; the last one above.
_TABLES: Mapping[str, tuple[tuple[int | None, str], ...]] = {
    "allreduce": (
        (
            4,
            (
                "ring 8 recursive-doubling 4096 ring 8192 recursive-doubling 16384 ring 262144 "
                "rabenseifner"
            ),
        ),
        (8, "ring 16 recursive-doubling 8192 rabenseifner"),
        (16, "recursive-doubling 8192 rabenseifner"),
        (32, "ring 64 recursive-doubling 4096 rabenseifner"),
        (64, "ring 128 rabenseifner"),
        (128, "recursive-doubling 262144 rabenseifner"),
        (256, "reduce-bcast 131072 recursive-doubling 262144 rabenseifner"),
        (512, "reduce-bcast 4096 rabenseifner"),
        (2048, "reduce-bcast 2048 recursive-doubling 16384 rabenseifner"),
        (4096, "reduce-bcast 2048 ring 4096 recursive-doubling 16384 rabenseifner"),
        (None, "reduce-bcast 2048 ring 16384 recursive-doubling 32768 rabenseifner"),
    ),
    "alltoall": (
        (3, "pairwise 32768 linear 262144 pairwise"),
        (8, "linear 524288 pairwise 1048576 linear"),
        (16, "linear"),
        (32, "linear 4 modified-bruck 512 linear"),
        (64, "modified-bruck 512 linear"),
        (256, "modified-bruck 1024 linear 262144 pairwise"),
        (512, "modified-bruck 1024 linear 32768 pairwise"),
        (1024, "modified-bruck 512 linear 262144 pairwise"),
        (2048, "modified-bruck 512 linear"),
        (4096, "modified-bruck 1024 linear"),
        (None, "modified-bruck 2048 linear"),
    ),
    "alltoallv": (
        (4, "pairwise"),
        (64, "linear"),
        (128, "pairwise"),
        (256, "linear"),
        (1024, "pairwise"),
        (None, "linear"),
    ),
    "barrier": (
        (4, "recursive-doubling"),
        (8, "linear"),
        (64, "recursive-doubling"),
        (256, "dissemination"),
        (512, "tree"),
        (1024, "dissemination"),
        (4096, "tree"),
        (None, "dissemination"),
    ),
    "bcast": (
        (
            4,
            (
                "chain 32 binary 256 chain 512 knomial 1024 linear 32768 binary 131072 chain "
                "262144 linear 524288 bmtree 1048576 binary"
            ),
        ),
        (8, "binary 64 bmtree 128 binary 2048 bmtree 8192 linear 1048576 chain"),
        (16, "knomial 8 binary 64 knomial 4096 binary 16384 bmtree 32768 linear"),
        (32, "knomial 4096 bmtree 1048576 scatter-allgather"),
        (64, "bmtree 2048 knomial"),
        (128, "knomial"),
        (256, "bmtree 2 binary 16384 linear 32768 binary 65536 knomial"),
        (1024, "knomial 16384 split-binary 32768 knomial"),
        (2048, "knomial 524288 scatter-allgather"),
        (4096, "knomial 262144 scatter-allgather"),
        (None, "knomial 8192 binary 16384 knomial 262144 scatter-allgather"),
    ),
    "reduce": (
        (4, "rabenseifner 8 binary 16 chain 32 linear 262144 chain"),
        (8, "binary 4096 chain 65536 binomial 262144 linear 524288 binomial 1048576 linear"),
        (16, "binary 8192 binomial"),
        (32, "binary 4096 binomial"),
        (256, "binomial"),
        (512, "binomial 8192 in-order-binary 16384 binomial"),
        (2048, "binomial"),
        (4096, "binomial 512 in-order-binary 1024 binomial 8192 in-order-binary 16384 binomial"),
        (
            None,
            (
                "binomial 16 in-order-binary 32 binomial 1024 in-order-binary 2048 binomial 8192 "
                "in-order-binary 16384 binomial"
            ),
        ),
    ),
    "reduce_scatter": (
        (4, "ring 65536 butterfly 131072 ring"),
        (8, "reduce-scatterv 8 recursive-halving 262144 ring"),
        (32, "recursive-halving 262144 ring"),
        (64, "reduce-scatterv 64 recursive-halving 2048 butterfly 524288 ring"),
        (
            128,
            (
                "reduce-scatterv 256 recursive-halving 512 butterfly 2048 recursive-halving 4096 "
                "butterfly"
            ),
        ),
        (256, "reduce-scatterv 256 recursive-halving 512 butterfly"),
        (512, "reduce-scatterv 256 recursive-halving 1024 butterfly"),
        (
            1024,
            (
                "reduce-scatterv 512 recursive-halving 2048 butterfly 8192 recursive-halving "
                "16384 butterfly"
            ),
        ),
        (
            2048,
            (
                "reduce-scatterv 512 recursive-halving 4096 butterfly 16384 recursive-halving "
                "32768 butterfly"
            ),
        ),
        (4096, "reduce-scatterv 512 recursive-halving 4096 butterfly"),
        (None, "reduce-scatterv 1024 recursive-halving 8192 butterfly"),
    ),
    "allgather": (
        (3, "ring"),
        (32, "recursive-doubling"),
        (64, "recursive-doubling 1024 neighbor 65536 ring"),
        (128, "recursive-doubling 512 neighbor 65536 ring"),
        (256, "recursive-doubling 512 neighbor 131072 ring 524288 neighbor 1048576 ring"),
        (
            512,
            (
                "recursive-doubling 32 bruck 128 recursive-doubling 1024 neighbor 131072 ring "
                "524288 neighbor 1048576 ring"
            ),
        ),
        (1024, "recursive-doubling 64 bruck 256 recursive-doubling 2048 neighbor"),
        (
            2048,
            (
                "recursive-doubling 4 bruck 8 recursive-doubling 16 bruck 32 recursive-doubling "
                "256 bruck 512 recursive-doubling 4096 neighbor"
            ),
        ),
        (4096, "bruck 32 recursive-doubling 128 bruck 512 recursive-doubling 4096 neighbor"),
        (
            None,
            (
                "recursive-doubling 2 bruck 8 recursive-doubling 16 bruck 512 recursive-doubling "
                "4096 neighbor"
            ),
        ),
    ),
    "allgatherv": (
        (3, "ring"),
        (8, "gather-bcast 256 neighbor 4096 ring 8192 neighbor 16384 bruck 262144 neighbor"),
        (16, "gather-bcast 1024 bruck"),
        (32, "gather-bcast 128 bruck 262144 ring"),
        (64, "gather-bcast 256 bruck 8192 ring"),
        (128, "gather-bcast 256 bruck 4096 ring"),
        (256, "bruck 1024 neighbor 65536 ring"),
        (512, "bruck 1024 ring"),
        (1024, "bruck 512 gather-bcast 1024 bruck 4096 neighbor 1048576 ring"),
        (None, "bruck 4096 neighbor"),
    ),
    "gather": (
        (4, "linear-sync 2 linear 4 binomial 32768 linear 65536 binomial 131072 linear-sync"),
        (8, "binomial 1024 linear 8192 binomial 32768 linear 262144 linear-sync"),
        (256, "binomial"),
        (512, "binomial 2048 linear 8192 binomial"),
        (None, "binomial"),
    ),
    "scatter": (
        (4, "linear-nb 2 linear 131072 linear-nb 262144 linear"),
        (8, "binomial 2048 linear 4096 binomial 8192 linear 32768 linear-nb 1048576 linear"),
        (16, "binomial 16384 linear-nb 1048576 linear"),
        (32, "binomial 16384 linear 32768 linear-nb"),
        (64, "binomial 512 linear-nb 8192 binomial 16384 linear-nb"),
        (None, "binomial 512 linear-nb"),
    ),
}


def follows_nodes(_op: str, _size: int, _n: float) -> bool:
    """Return whether a collective is one within nodes and one between them: none is."""
    return False


def algorithm(op: str, size: int, n: float) -> str:
    """Return the algorithm for ``size`` processes and ``n`` bytes."""
    if op in _FIXED:
        return _FIXED[op]
    amount = n * size if op == "reduce_scatter" else n
    rows = _rows(op)
    cells = next(cells for below, cells in rows if size < below)
    name = next(name for name, below in cells if amount < below)
    return _with_few_elements(op, name, size, n / _ELEMENT)


@cache
def _rows(op: str) -> tuple[tuple[float, tuple[tuple[str, float], ...]], ...]:
    return tuple((below or math.inf, _cells(text)) for below, text in _TABLES[op])


def _cells(text: str) -> tuple[tuple[str, float], ...]:
    words = text.split()
    limits = [*map(float, words[1::2]), math.inf]
    return tuple(zip(words[::2], limits, strict=True))


def _with_few_elements(op: str, name: str, size: int, elements: float) -> str:
    """Return what an algorithm gives way to where there is not an element for each process."""
    power = 1 << (size.bit_length() - 1)
    if op == "allreduce" and name == "ring" and elements < size:
        return "recursive-doubling"
    if op in ("allreduce", "reduce") and name == "rabenseifner" and elements < power:
        return "linear"
    if op == "bcast" and name == "scatter-allgather" and elements < size:
        return "linear"
    return name
