"""Collectives: which messages between two processes each algorithm consists of.

It is the cost of a collective, not what becomes of its data. The algorithms are those of MPICH
and Open MPI (Thakur, Rabenseifner & Gropp 2005, Optimization of collective communication
operations).
"""

from parcast.program.matching.collectives.choosing import placed, steps
from parcast.program.matching.collectives.groups import (
    Groups,
    Step,
    groups,
    is_signal,
    some,
)
from parcast.program.matching.collectives.names import ALGORITHMS, UNNAMED, Algorithms, algorithms

__all__ = [
    "ALGORITHMS",
    "UNNAMED",
    "Algorithms",
    "Groups",
    "Step",
    "algorithms",
    "groups",
    "is_signal",
    "placed",
    "some",
    "steps",
]
