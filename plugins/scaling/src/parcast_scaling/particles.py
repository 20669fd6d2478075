"""Explanations of measured times, many at once: which terms, and the share of each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_scaling.mechanisms import Floats, Mechanism

Bools = NDArray[np.bool_]


@attrs.frozen(kw_only=True)
class Particles:
    """Explanations, a row for each."""

    has: Bools  #: which terms, shape (particles, terms)
    sizes: Floats  #: logarithms of unnormalized shares, shape (particles, terms)
    share: Floats  #: of each term at the reference, as `shares` has them, shape (particles, terms)
    divided: Floats  #: the exponent a of p in the divided work
    crowded: Floats  #: the exponent b of p in the contention
    level: NDArray[np.int64]  #: of the scatter and the drift about the sum of terms
    drift: Floats  #: logarithm of the probability of this drift

    def __len__(self) -> int:
        """Return how many."""
        return len(self.level)

    def take(self, rows: NDArray[np.int64]) -> Particles:
        """Return those rows."""
        return Particles(
            has=self.has[rows],
            sizes=self.sizes[rows],
            share=self.share[rows],
            divided=self.divided[rows],
            crowded=self.crowded[rows],
            level=self.level[rows],
            drift=self.drift[rows],
        )

    def where(self, better: Bools, others: Particles) -> Particles:
        """Return these, and the others where ``better``."""
        column = better[:, None]
        return Particles(
            has=np.where(column, others.has, self.has),
            sizes=np.where(column, others.sizes, self.sizes),
            share=np.where(column, others.share, self.share),
            divided=np.where(better, others.divided, self.divided),
            crowded=np.where(better, others.crowded, self.crowded),
            level=np.where(better, others.level, self.level),
            drift=np.where(better, others.drift, self.drift),
        )


def shares(has: Bools, sizes: Floats) -> Floats:
    """Return the share of each term that is there, from logarithms of their sizes."""
    top = reduce(np.maximum, np.where(has, sizes, -np.inf).T)
    parts = np.where(has, np.exp(sizes - top[:, None]), 0.0)
    normalized: Floats = parts / row_sums(parts)[:, None]
    return normalized


def row_sums(values: Floats) -> Floats:
    """Return the sum of each of many short rows, column by column.

    numpy adds them row by row, which takes three times as long. The order is numpy's own: from
    eight columns on, every eighth is added up, then these sums in pairs, then what is left.
    """
    columns, count = values.T, len(values.T)
    if count < 8:
        return reduce(np.add, columns)
    rest = count - count % 8
    eighths = [reduce(np.add, columns[first:rest:8]) for first in range(8)]
    pairs = [eighths[first] + eighths[first + 1] for first in (0, 2, 4, 6)]
    return reduce(np.add, columns[rest:], (pairs[0] + pairs[1]) + (pairs[2] + pairs[3]))


def relative_parts(
    particles: Particles,
    terms: Sequence[Mechanism],
    p: Floats,
    n: Floats,
    reference: tuple[float, float],
) -> Floats:
    """Return each term's part of the time at the reference, shape (particles, points, terms)."""
    parts = particles.share[:, None, :] * courses(terms, p, n, reference)[None]
    far = np.log(p / reference[0])[None]
    parts[:, :, 0] *= np.exp((1 - particles.divided)[:, None] * far)
    parts[:, :, -1] *= np.exp((particles.crowded - 1)[:, None] * far)
    return parts


def courses(
    terms: Sequence[Mechanism], p: Floats, n: Floats, reference: tuple[float, float]
) -> Floats:
    """Return each term over its value at the reference, shape (points, terms)."""
    at, size = np.array([reference[0]]), np.array([reference[1]])
    return np.stack([term.values(p, n) / term.values(at, size) for term in terms], axis=-1)


def relative_sums(particles: Particles, course: Floats, far: Floats) -> Floats:
    """Return the time over that at the reference, shape (particles, points).

    It is the sum of :func:`relative_parts`, from the courses of the terms and the logarithm of p
    over that at the reference.
    """
    share = particles.share
    sums: Floats = share[:, 1:-1] @ course[:, 1:-1].T
    sums += share[:, :1] * course[:, 0] * np.exp((1 - particles.divided)[:, None] * far)
    sums += share[:, -1:] * course[:, -1] * np.exp((particles.crowded - 1)[:, None] * far)
    return sums
