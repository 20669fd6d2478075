"""What makes time grow or fall with p: the field's terms, as functions of p and the work n.

A term is normalized where it is used, by its value at a reference point; what is inferred is its
share of the time there. So no term has a unit, and shares of all codes are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: What binds, in words.
WORK = "divided work"
SURFACE = "boundaries"
SERIAL = "serial part"
COLLECTIVES = "collectives"
CONTENTION = "contention"
IMBALANCE = "imbalance"


@attrs.frozen
class Mechanism:
    """One term of the time."""

    name: str
    binds: str  #: what is said to bind where it is the largest
    values: Callable[[Floats, Floats], Floats] = attrs.field(eq=False)  #: of p and n
    chance: float  #: that a code has it, before anything is measured
    weight: float  #: of its share among those that a code has (Dirichlet)
    alone: bool = False  #: each process does it alone: a network that is full leaves it as it is


def _depth(p: Floats) -> Floats:
    """Return the steps of a tree over p, and 0 for one process."""
    depth: Floats = np.log2(np.maximum(p, 1.0))
    return depth


def _largest_of(p: Floats) -> Floats:
    """Return how far the largest of p Gaussian delays lies above their mean, about."""
    largest: Floats = np.sqrt(2 * np.log(np.maximum(p, 1.0)))
    return largest


#: The divided work is first and contention last: their exponents of p are inferred, too.
MECHANISMS = (
    Mechanism("n / p^a", WORK, lambda p, n: n / p, 0.85, 4.0, alone=True),
    Mechanism("(n/p)^(2/3)", SURFACE, lambda p, n: (n / p) ** (2 / 3), 0.35, 0.6),
    Mechanism("(n/p)^(1/2)", SURFACE, lambda p, n: (n / p) ** 0.5, 0.25, 0.6),
    Mechanism("1", SERIAL, lambda p, _: np.ones_like(p), 0.6, 0.6),
    Mechanism("log2(p)", COLLECTIVES, lambda p, _: _depth(p), 0.35, 0.6),
    Mechanism("sqrt(2 ln p)", IMBALANCE, lambda p, _: _largest_of(p), 0.15, 0.6),
    Mechanism("n/p log2(p)", IMBALANCE, lambda p, n: n / p * _depth(p), 0.25, 0.6),
    Mechanism("p^b", CONTENTION, lambda p, _: p, 0.4, 0.4),
)


def binding(terms: Sequence[Mechanism]) -> dict[str, tuple[int, ...]]:
    """Return the places of the terms of each kind, by what binds where they are the largest."""
    return {
        kind: tuple(index for index, term in enumerate(terms) if term.binds == kind)
        for kind in dict.fromkeys(term.binds for term in terms)
    }
