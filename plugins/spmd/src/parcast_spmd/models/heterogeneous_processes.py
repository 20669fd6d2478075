"""Processes that differ: nodes of unequal speed, and more processes than processors."""

from __future__ import annotations

import attrs
import numpy as np

from parcast import Query, UnsupportedError
from parcast.model import Costs, Placement, place
from parcast_spmd.mva.mva_kernels import Floats, Integers


def placement_of(query: Query) -> Placement | None:
    """Return where processes run if any is not of speed 1 or they share processors, else None.

    Raises
    ------
    UnsupportedError
        If a process has no core, and cores may not be shared.
    """
    return query.once(placement_of, _placement)


def _placement(query: Query) -> Placement | None:
    placement = place(query)
    crowded = placement.sharing.max() > query.machine.nodes.cores
    return placement if crowded or (placement.speed != 1).any() else None


def common_speed(placement: Placement, query: Query) -> float | None:
    """Return the speed that all processes have, each on a core of its own, or None."""
    crowded = placement.sharing.max() > query.machine.nodes.cores
    return None if crowded or np.ptp(placement.speed) else float(placement.speed[0])


@attrs.frozen(eq=False)
class Uneven:
    """What each process computes in a burst, and with whom it shares processors."""

    pace: Floats  #: seconds, shape (groups, processes in a group)
    nodes: Integers  #: of each group where processors are shared, else -1
    cores: Integers  #: of each node where processors are shared

    @classmethod
    def of(cls, placement: Placement, compute: float, members: int, query: Query) -> Uneven:
        """Return what a placement makes of computations of ``compute`` seconds at speed 1.

        Raises
        ------
        UnsupportedError
            If synchronization groups would share processors.
        """
        cores = query.machine.nodes.cores
        share = np.minimum(1.0, cores / placement.sharing)
        crowded = share < 1
        if members > 1 and crowded.any():
            raise UnsupportedError(
                f"{query.p} processes share the cores of machine {query.machine.name!r}, and spmd "
                f"takes groups of c={members} only on cores of their own; give more nodes"
            )
        pace = compute / (placement.speed / share)
        _, node = np.unique(placement.node, return_inverse=True)
        nodes = np.where(crowded, node, -1)[::members].astype(np.int64)
        counts = np.full(int(node.max()) + 1, cores) if crowded.any() else np.empty(0)
        return cls(pace.reshape(-1, members), nodes, counts.astype(np.int64))

    @classmethod
    def of_memory(
        cls, work: float, moved: float, members: int, query: Query
    ) -> tuple[float, Uneven | None]:
        """Return the seconds of operations that move bytes of memory, and where these differ.

        Raises
        ------
        UnsupportedError
            If processes share cores: then who computes and who waits for memory is not known.
        """
        costs = query.once("costs of computing", lambda asked: Costs.of(asked, {"compute"}))
        if costs.placement.sharing.max() > query.machine.nodes.cores:
            raise UnsupportedError(
                f"{query.p} processes share the cores of machine {query.machine.name!r}, and spmd "
                "takes memory_bytes only on cores of their own; give more nodes"
            )
        seconds = costs.compute(np.arange(query.p), work, moved)
        if not np.ptp(seconds):
            return float(seconds[0]), None
        nodes = np.full(query.p // members, -1, np.int64)
        uneven = cls(seconds.reshape(-1, members), nodes, np.empty(0, np.int64))
        return uneven.mean, uneven

    @property
    def mean(self) -> float:
        """Return the mean computation of a process in a burst."""
        return float(self.pace.mean())

    @property
    def crowded(self) -> bool:
        """Whether processes share processors."""
        return self.cores.size > 0
