"""The two memories of the kernel, and their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from parcast_petri.kernel import layout as k


@attrs.frozen(eq=False)
class Memory:
    """The two memories of the kernel: whole numbers, and seconds."""

    m: Any
    f: Any
    sizes: Mapping[int, int]  #: of each column
    slots: int  #: timers of transitions with several servers

    def column(self, at: int, start: int = 0, end: int | None = None) -> list[Any]:
        """Return the entries of a column, or some of them."""
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        return list(memory[first + start : first + (self.sizes[at] if end is None else end)])

    def fill(self, at: int, values: Sequence[Any]) -> None:
        """Set the first entries of a column."""
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        memory[first : first + len(values)] = values

    def copy_from(self, other: Memory) -> None:
        """Take over all entries of a memory of the same net, form and size."""
        self.m[:] = other.m
        self.f[:] = other.f
