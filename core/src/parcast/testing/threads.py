"""A registry asked from many threads gives what it gives when it is asked alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from parcast.api import Registry
from parcast.testing.promises import expect


def check_threads(
    make: Callable[[], Registry], questions: Sequence[Mapping[str, Any]], threads: int = 16
) -> None:
    """Expect the same rows from many threads at once, asked first, and from one after the other.

    Parameters
    ----------
    make
        Returns a registry; one that imports its solvers only then finds the most.
    questions
        The arguments of `Registry.compare`, each by its name.
    threads
        How many ask.

    Raises
    ------
    AssertionError
        If an answer differs; the question is named.
    """
    registry, alone = make(), make()
    begin = Barrier(threads)

    def ask(target: Registry, question: Mapping[str, Any]) -> str:
        rows = [row.to_dict() | {"solve_seconds": None} for row in target.compare(**question).rows]
        return json.dumps(rows)

    def several(first: int) -> list[str]:
        begin.wait()  # all at the same time, from the first import on
        return [ask(registry, question) for question in questions[first::threads]]

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(several, range(threads)))
    for index, question in enumerate(questions):
        beside, by_itself = parts[index % threads][index // threads], ask(alone, question)
        who = f"{question}, asked from {threads} threads"
        expect(beside == by_itself, f"{who}: {beside} differs from {by_itself}, asked alone")
