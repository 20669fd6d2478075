"""What the data determine: rank of the Jacobian, null directions, and what is known in spite.

Columns are scaled to length 1 first, so that the rank does not depend on units. A singular value
counts as zero below a threshold: 1e-7, or the error of the derivatives if that is more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import attrs
import numpy as np

from parcast.errors import SolveError
from parcast_fit.model import Jacobian, Model
from parcast_fit.parameters import Floats

#: Singular values below this are zero, of a Jacobian with columns of length 1.
LEAST = 1e-7

#: A column no longer than this is rounding.
INVISIBLE = 1e-9

#: A parameter whose part in a null direction is this much smaller than the largest has none.
NEGLIGIBLE = 1e-4


@attrs.frozen(kw_only=True)
class Rank:
    """The rank of the Jacobian, and what follows from its singular values."""

    rank: int
    singular_values: Floats  #: of the scaled Jacobian, largest first
    threshold: float
    null: Floats  #: shape (parameters, parameters - rank), in searched coordinates
    covariance: Floats  #: per unit of scatter, in searched coordinates; of the determined part
    effects: Floats  #: length of each column: how much a coordinate moves the answers
    ignored: tuple[int, ...]  #: parameters whose column is zero

    @property
    def involved(self) -> list[int]:
        """Parameters that some null direction changes."""
        return np.flatnonzero(np.abs(self.null).max(axis=1, initial=0.0) > 0).tolist()


def take_apart(jacobian: Jacobian) -> Rank:
    """Return rank, null space and covariance of a Jacobian of shape (rows, parameters)."""
    matrix = jacobian.matrix
    norms, noise = np.linalg.norm(matrix, axis=0), np.linalg.norm(jacobian.error, axis=0)
    largest = norms.max(initial=0.0)
    ignored = norms <= np.maximum(max(INVISIBLE, 1e-9 * largest), 0.5 * noise)
    scale = np.where(ignored, 1.0, np.maximum(norms, 1e-300))
    scaled = np.where(ignored, 0.0, matrix / scale)
    threshold = max(LEAST, float(np.linalg.norm(jacobian.error / scale * ~ignored)))
    _, values, rows = np.linalg.svd(scaled, full_matrices=True)
    values = np.concatenate([values, np.zeros(matrix.shape[1] - len(values))])
    rank = int((values > threshold).sum())
    inverse = rows[:rank] / values[:rank, None] / scale
    null = (rows[rank:] / scale).T
    return Rank(
        rank=rank,
        singular_values=values,
        threshold=threshold,
        null=sparse_basis(null, scale) if null.size else null,
        covariance=inverse.T @ inverse,
        effects=scale,
        ignored=tuple(np.flatnonzero(ignored).tolist()),
    )


def sparse_basis(null: Floats, effects: Floats) -> Floats:
    """Return a basis of the same space with as many zeros as possible, the largest effect 1.

    Each choice of as many parameters as there are directions gives a basis in echelon form; the
    one with most zeros is kept.
    """
    scaled = null * effects[:, None]
    count, size = scaled.shape[1], scaled.shape[0]
    best, fewest = scaled, scaled.size + 1
    for pivots in combinations(range(size), count):
        square = scaled[list(pivots)]
        if np.linalg.cond(square) > 1e8:
            continue
        tried = scaled @ np.linalg.inv(square)
        tried = tried / np.abs(tried).max(axis=0)
        tried[np.abs(tried) < NEGLIGIBLE] = 0.0
        if np.count_nonzero(tried) < fewest:
            best, fewest = tried, int(np.count_nonzero(tried))
    first = [np.flatnonzero(best[:, i])[0] for i in range(count)]
    best = best * np.sign(best[first, range(count)]) / np.abs(best).max(axis=0)
    basis: Floats = best / effects[:, None]
    return basis


def another_fit(model: Model, inner: Floats, direction: Floats) -> Floats | None:
    """Return another point with the same predictions, found along a null direction.

    A step along it, as far as the bounds allow, then Gauss-Newton corrections back to the same
    predictions; None where they do not come back, so that the direction is null near the fit only.
    """
    wanted = model.logs([inner])[0]
    low, high = model.bounds
    for share in (0.3, -0.3, 0.1, -0.1, 0.01, -0.01, 1e-3, -1e-3):
        moved = inner + share * direction
        for _ in range(6):
            if (moved < low).any() or (moved > high).any():
                break
            missed = wanted - model.logs([moved])[0]
            if not np.isfinite(missed).all():
                break
            if np.abs(missed).max() < 1e-9:
                return moved
            try:
                matrix = model.jacobian(moved).matrix
            except SolveError:
                break
            norms = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
            moved = moved + np.linalg.pinv(matrix / norms, rcond=1e-6) @ missed / norms
    return None


@attrs.frozen(kw_only=True)
class DeterminedCombination:
    """A combination of undetermined parameters that the data do determine."""

    weights: tuple[tuple[int, float], ...]  #: parameter and exponent or factor
    product: bool  #: of powers; else a sum
    exact: bool  #: small whole weights; else good near the fit only


def determined_combinations(
    rank: Rank, relative: Floats, values: Floats, units: Sequence[str]
) -> list[DeterminedCombination]:
    """Return as many independent combinations as are determined, of few parameters each.

    Sums and products of powers with small whole weights come first; what is left is given as
    products that hold near the fit.

    Parameters
    ----------
    rank
        With the null directions.
    relative
        Relative changes of the parameters per unit of their coordinates.
    values, units
        Of the parameters.
    """
    members = rank.involved
    wanted = len(members) - rank.null.shape[1]
    changes = rank.null * relative[:, None]
    chosen: list[DeterminedCombination] = []
    spanned = np.zeros((0, len(values)))
    candidates = list(_candidates(changes, values, members, units))
    for candidate in [c for c in candidates if c.exact] + [c for c in candidates if not c.exact]:
        row = np.zeros(len(values))  # in effects, where the members are alike
        for j, weight in candidate.weights:
            share = weight if candidate.product else weight * values[j]
            row[j] = share * relative[j] / rank.effects[j]
        extended = np.vstack([spanned, row / np.linalg.norm(row)])
        if len(chosen) < wanted and np.linalg.matrix_rank(extended, tol=1e-4) > len(chosen):
            chosen.append(candidate)
            spanned = extended
    return chosen


def _candidates(
    relative: Floats, values: Floats, members: list[int], units: Sequence[str]
) -> Iterator[DeterminedCombination]:
    """Yield combinations of few members that no null direction changes."""
    for size in range(2, len(members) + 1):
        for group in combinations(members, size):
            for product in (False, True):
                if not product and len({units[j] for j in group} - {""}) > 1:
                    continue
                changes = relative[list(group)]
                changes = changes if product else changes * values[list(group), None]
                weights = _annihilator(changes)
                if weights is None:
                    continue
                weights = weights / weights[0]
                sizes = np.abs(weights) / np.abs(weights).min()
                whole = bool(np.abs(sizes - np.rint(sizes)).max() < 0.01 and sizes.max() < 3.5)
                if whole:
                    weights = np.sign(weights) * np.rint(sizes)
                if whole or product:
                    pairs = tuple(zip(group, weights.tolist(), strict=True))
                    yield DeterminedCombination(weights=pairs, product=product, exact=whole)


def _annihilator(changes: Floats) -> Floats | None:
    """Return the one combination of rows that vanishes; None where there is none or several."""
    scale = np.maximum(np.abs(changes).max(axis=1), 1e-300)
    left, values, _ = np.linalg.svd(changes / scale[:, None])
    rank = int((values > 1e-6).sum())
    if rank != len(changes) - 1 or np.abs(left[:, rank]).min() < 1e-6:
        return None
    weights: Floats = left[:, rank] / scale
    return weights
