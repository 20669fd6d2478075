"""Which products of two factors occur more than once, so that each is computed once."""

from __future__ import annotations

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
    users: dict[Pair, set[int]] = {}  #: the products that have each pair
    for index, factors in enumerate(products):
        for pair in combinations(factors, 2):
            users.setdefault(pair, set()).add(index)
    while users:
        pair = max(users, key=lambda pair: (len(users[pair]), pair))
        if len(users[pair]) < 2:
            break
        names[pair] = f"p{len(names) + 1}_"
        for index in tuple(users[pair]):
            for former in set(combinations(products[index], 2)):
                users[former].remove(index)
            products[index] = sorted(replaced(products[index], pair, names[pair]))
            for later in combinations(products[index], 2):
                users.setdefault(later, set()).add(index)
        del users[pair]
    return names


def replaced(factors: list[str], pair: Pair, name: str) -> list[str]:
    """Return factors with a pair of them replaced by its product, as often as it occurs."""
    if pair[0] not in factors or pair[1] not in factors:
        return factors
    remaining = list(factors)
    while all(remaining.count(factor) >= pair.count(factor) for factor in pair):
        for factor in pair:
            remaining.remove(factor)
        remaining.insert(0, name)
    return remaining
