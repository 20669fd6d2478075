"""Links that stand for others, where messages of some ranks stand for those of others."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.model import Wiring


@attrs.frozen(eq=False)
class FoldedWiring:
    """Links as a part of the ranks passes them, whose messages stand for those of all.

    A link stands for all links that the copies of its messages pass. It has the part of their
    capacity that one copy has, so that fair shares are those of the whole.
    """

    wiring: Wiring
    standing: NDArray[np.int32]  #: of each link, the one that stands for it
    capacity: NDArray[Any]

    @property
    def shared(self) -> NDArray[np.bool_]:
        """Whether messages share each link."""
        return self.wiring.shared

    def loads(self, sources: Any, targets: Any) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return what messages between these ranks take up, as `Wiring.loads`."""
        rows, weights = self.wiring.loads(sources, targets)
        return np.where(rows < 0, rows, self.standing[rows]).astype(np.int32), weights


def fold_wiring(wiring: Wiring, sources: Any, targets: Any) -> FoldedWiring | None:
    """Return links that stand for others, or None where messages meet otherwise in each copy.

    Parameters
    ----------
    wiring
        All links.
    sources, targets : (copies, n)
        The ranks of messages; each row has those of the row before, moved on, and the first
        those of the last.
    """
    copies, count = sources.shape
    links, _ = wiring.loads(sources.ravel(), targets.ravel())
    routes = links.reshape(copies, count, -1)
    following = np.roll(routes, -1, axis=0)
    passed = routes >= 0
    if not np.array_equal(passed, following >= 0):
        return None
    successor = np.arange(len(wiring.capacity), dtype=np.int32)
    successor[routes[passed]] = following[passed]
    used = np.zeros(len(successor), np.bool_)
    used[routes[passed]] = True
    one_to_one = np.bincount(successor, minlength=len(successor)).max() == 1
    if not one_to_one or not np.array_equal(successor[routes[passed]], following[passed]):
        return None
    capacity, shared = wiring.capacity.astype(float), wiring.shared
    if (capacity[successor] != capacity).any() or (shared[successor] != shared).any():
        return None
    standing = _least_of_orbit(successor)
    first = np.sort(np.where(routes[0] < 0, -1, standing[routes[0]]), axis=1)
    if ((first[:, 1:] == first[:, :-1]) & (first[:, 1:] >= 0)).any():
        return None  # a message passes two links of which one stands for the other
    members = np.bincount(standing, minlength=len(standing))[standing]
    part = np.where(used & shared, members / copies, 1.0)
    return FoldedWiring(wiring, standing, capacity * part)


def _least_of_orbit(successor: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return of each link the least that one comes to, going from each to its successor."""
    least, ahead = np.minimum(np.arange(len(successor)), successor), successor
    while True:  # the least of 2, 4, 8, ... links on
        farther = np.minimum(least, least[ahead])
        if np.array_equal(farther, least) and np.array_equal(least[successor], least):
            return least.astype(np.int32)
        least, ahead = farther, ahead[ahead]
