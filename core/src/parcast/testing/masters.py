"""Masters for the pools of random programs."""

from __future__ import annotations

import re
from random import Random

_RESULTS = ("", ", result=64", ", result=512", ", result=(task % 3) * 256")


def with_masters(source: str, seed: int, size: int) -> str:
    """Return a program with masters who attend to its pools, most of them, all else as it is.

    Parameters
    ----------
    source
        What `parcast.testing.writer` writes: a pool of some ranks alone stands right under the
        ``if`` that says which.
    seed, size
        Of the program.
    """
    random = Random(f"masters of {seed}")  # noqa: S311  # no secrets
    lines = source.splitlines()
    for index, line in enumerate(lines):
        if "in pool(" in line and random.random() < 0.8:
            master = random.choice(_who_comes(lines, index, size))
            lines[index] = f"{line[:-2]}{random.choice(_RESULTS)}, master={master}):"
    return "\n".join(lines) + "\n"


def _who_comes(lines: list[str], index: int, size: int) -> list[int]:
    """Return the ranks that come to the pool of a line."""
    test = re.fullmatch(r"( *)if rank (==|>=|% 2 ==) (\d+):", lines[index - 1])
    if test is None or len(test[1]) >= len(lines[index]) - len(lines[index].lstrip()):
        return list(range(size))
    number, ranks = int(test[3]), range(size)
    if test[2] == ">=":
        return list(ranks[number:])
    return [number] if test[2] == "==" else [rank for rank in ranks if rank % 2 == number]
