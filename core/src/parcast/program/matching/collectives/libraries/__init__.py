"""Rules by which MPI libraries choose an algorithm by size and number of processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs

from parcast.program.matching.collectives.libraries import mpich, nccl, openmpi


@attrs.frozen
class Library:
    """What a library takes for a collective of some processes, and bytes as it states them.

    Of ``allgatherv`` and the like the bytes are the mean.
    """

    algorithm: Callable[[str, int, float], str]
    #: whether it is one within nodes and one between them, where several nodes have several
    #: processes
    follows_nodes: Callable[[str, int, float], bool]


LIBRARIES: Mapping[str, Library] = {
    "mpich": Library(mpich.algorithm, mpich.follows_nodes),
    "nccl": Library(nccl.algorithm, nccl.follows_nodes),
    "openmpi": Library(openmpi.algorithm, openmpi.follows_nodes),
}
