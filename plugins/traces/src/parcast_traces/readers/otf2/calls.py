"""The calls of one location, gathered table by table."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from parcast_traces.compilation import compiled
from parcast_traces.readers.otf2 import records, walking
from parcast_traces.readers.otf2 import walking as c
from parcast_traces.trace.columns import Ints


@cache
def compiled_walk() -> Any:
    """Return the compiled form of `walking.walk`."""
    return compiled((records, walking), "walk")


class Calls:
    """What a location did; ``regions`` says of each region whether it is a call."""

    def __init__(self, regions: Any) -> None:
        self.regions = regions
        self.stack = np.zeros(c.MOST_DEPTH, np.int64)
        self.state = np.zeros(4, np.int64)
        self.call = np.zeros(c.COLUMNS, np.int64)
        self.tables: list[Ints] = []
        self.completions: list[Ints] = []
        self.span: tuple[int, int] | None = None  #: of all its records, calls or not

    def take(self, rows: Ints) -> int:
        """Add the records of a table; return why it stopped, ``FINE`` if it did not."""
        if len(rows):
            first, last = self.span or (int(rows[0, 1]), 0)
            self.span = first, max(last, int(rows[-1, 1]))
        calls = np.empty((len(rows) + 1, c.COLUMNS), np.int64)
        completions = np.empty((len(rows) + 1, c.PARTS), np.int64)
        call_count, completion_count = compiled_walk()(
            rows, self.regions, self.stack, self.state, self.call, calls, completions
        )
        self.tables.append(calls[:call_count].copy())
        self.completions.append(completions[:completion_count].copy())
        return int(self.state[c.FAILED])

    @property
    def open(self) -> int:
        """The region of a call that is never left, -1 if there is none."""
        return int(self.call[c.REGION]) if self.state[c.CALL_DEPTH] else -1

    def whole(self) -> tuple[Ints, Ints]:
        """Return all calls and all completions."""
        none = np.empty((0, c.COLUMNS), np.int64), np.empty((0, c.PARTS), np.int64)
        return np.concatenate([none[0], *self.tables]), np.concatenate([none[1], *self.completions])
