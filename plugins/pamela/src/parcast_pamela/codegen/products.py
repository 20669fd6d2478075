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
    left = [sorted(one) for one in terms]
    found: dict[Pair, str] = {}
    while True:
        counts = Counter(pair for one in left for pair in dict.fromkeys(combinations(one, 2)))
        pair, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=(None, 0))
        if pair is None or count < 2:
            return found
        found[pair] = f"p{len(found) + 1}_"
        left = [sorted(replaced(one, pair, found[pair])) for one in left]


def replaced(factors: list[str], pair: Pair, name: str) -> list[str]:
    """Return factors with a pair of them replaced by its product, as often as it occurs."""
    kept = list(factors)
    while all(kept.count(one) >= pair.count(one) for one in pair):
        for one in pair:
            kept.remove(one)
        kept.insert(0, name)
    return kept
