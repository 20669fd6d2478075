"""Which products of two factors occur more than once, so that each is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

Pair = tuple[str, str]


def shared_products(terms: Iterable[Iterable[str]]) -> Mapping[Pair, str]:
    """Return names for pairs of factors, in the order in which they are to be replaced.

    Parameters
    ----------
    terms
        The factors of each product, as they are written.
    """
    products = [sorted(factors) for factors in terms]
    names: dict[Pair, str] = {}
    while True:
        counts = Counter(
            pair for factors in products for pair in dict.fromkeys(combinations(factors, 2))
        )
        pair, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
        if pair is None or count < 2:
            return names
        names[pair] = f"p{len(names) + 1}_"
        products = [sorted(replaced(factors, pair, names[pair])) for factors in products]


def replaced(factors: list[str], pair: Pair, name: str) -> list[str]:
    """Return factors with a pair of them replaced by its product, as often as it occurs."""
    remaining = list(factors)
    while all(remaining.count(factor) >= pair.count(factor) for factor in pair):
        for factor in pair:
            remaining.remove(factor)
        remaining.insert(0, name)
    return remaining
