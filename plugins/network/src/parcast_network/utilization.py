"""How much of each link a run uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast.model import Wiring
from parcast_network.folding import FoldedWiring

#: Links that are named, the fullest first: so many, and none that is half as full as that.
MOST_NAMED = 200


def link_utilization(
    wiring: Wiring | FoldedWiring, sources: Any, targets: Any, sizes: Any, seconds: float
) -> dict[str, float]:
    """Return the share of the fullest links' capacity that messages used, by name.

    Parameters
    ----------
    wiring
        The links.
    sources, targets, sizes : (n,)
        The ranks of each message, and its bytes with its header.
    seconds
        How long the run took.
    """
    if not len(sizes) or not seconds:
        return {}
    plain = wiring.wiring if isinstance(wiring, FoldedWiring) else wiring
    ranks = len(plain.nodes)
    pairs, row = np.unique(sources.astype(np.int64) * ranks + targets, return_inverse=True)
    routes, weights = wiring.loads(*np.divmod(pairs, ranks))
    bytes_of_pairs = np.bincount(row, sizes, len(pairs))
    capacity, on_link = wiring.capacity.astype(float), np.zeros(len(wiring.capacity))
    for links, weight in zip(routes.T, weights.astype(float).tolist(), strict=True):
        passed = links >= 0
        np.add.at(on_link, links[passed], weight * bytes_of_pairs[passed])
    shares = np.where(wiring.shared, on_link / (capacity * seconds), 0.0)
    if isinstance(wiring, FoldedWiring):
        shares = shares[wiring.standing]
    fullest = np.argsort(-shares, kind="stable")[:MOST_NAMED]
    least = shares[fullest[0]] / 2
    return {plain.name(int(link)): float(shares[link]) for link in fullest if shares[link] > least}
