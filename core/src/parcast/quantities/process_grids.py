"""Balanced grids of processes, as MPI_Dims_create makes them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from parcast.errors import FormulaError


def dims(size: int, k: int, i: int) -> int:
    """Return extent ``i`` of ``size`` processes in ``k`` dimensions, as balanced as can be.

    Like MPI_Dims_create: the factors are as near to each other as the divisors of ``size``
    allow, in decreasing order.
    """
    if not (isinstance(size, int) and isinstance(k, int) and isinstance(i, int)):
        raise FormulaError("dims(size, k, i) takes whole numbers")
    if not 1 <= size < 2**31 or not 0 <= i < k:
        raise FormulaError(f"dims({size}, {k}, {i}) needs 1 <= size < 2**31 and 0 <= i < k")
    count = min(k, size.bit_length())  # more factors than that are 1
    return _balanced(size, count)[i] if i < count else 1


@lru_cache(maxsize=1024)
def _balanced(size: int, k: int) -> tuple[int, ...]:
    """Return ``k`` factors of ``size``, decreasing, the first as near the last as can be."""
    return min(_splits(size, k, 1), key=lambda factors: factors[0] - factors[-1])


@lru_cache(maxsize=4096)
def _smallest(size: int, k: int, least: int) -> tuple[int, ...] | None:
    """Return ``k`` factors, decreasing, none below ``least``, the first as small as can be."""
    return min(_splits(size, k, least), default=None)


def _splits(size: int, k: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yield, for each choice of the last factor, the factors with the smallest first one."""
    if k == 1:
        yield (size,)
        return
    for last in range(least, round(size ** (1 / k)) + 1):
        if size % last == 0 and last**k <= size:
            factors = _smallest(size // last, k - 1, last)
            if factors is not None:
                yield (*factors, last)
