"""Promises: a broken one is an `AssertionError` with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from parcast.errors import InvalidPointError, UnsupportedError
from parcast.model.query import Query
from parcast.plugins.entries import SolverEntry

#: How near, relatively, two numbers that should be equal must be.
TOLERANCE = 1e-9


def who_asked(entry: SolverEntry, query: Query) -> str:
    """Return what starts a sentence about a solver asked a query."""
    where = f"workload {query.workload.name!r} on machine {query.machine.name!r}"
    return f"solver {entry.name!r} ({entry.target}), {where}, p={query.p}, d={query.d}"


def is_sentence(text: object) -> bool:
    """Tell one line of at least two words from anything else."""
    return isinstance(text, str) and "\n" not in text and len(text.split()) > 1


def rise(*values: float | None) -> bool:
    """Tell whether the values that are stated rise, within `TOLERANCE`."""
    stated = [value for value in values if value is not None]
    return all(a <= b + TOLERANCE * abs(b) for a, b in pairwise(stated))


@contextmanager
def promised(promise: str, *, refusals: bool = False) -> Iterator[None]:
    """Turn any error into a broken promise; with ``refusals`` let a proper refusal pass."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        if refusals and isinstance(error, UnsupportedError | InvalidPointError):
            raise
        raise AssertionError(f"{promise}: {type(error).__name__}: {error}") from error


def expect(holds: object, sentence: str) -> None:
    """Break the promise that ``sentence`` states unless it holds."""
    if not holds:
        raise AssertionError(sentence)
