"""The rows of a study, read block by block from where each is kept."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, overload

import attrs

from parcast.errors import ParcastError
from parcast.results.packing import CHUNK, Pack
from parcast.results.row import Row
from parcast.study.store import Store, decode
from parcast.study.work import FinishedBlock


@attrs.frozen(slots=False, eq=False)
class StoredRows(Sequence[Row]):
    """Rows that take hardly any memory until they are looked at."""

    parts: Sequence[tuple[Store | None, FinishedBlock]] = attrs.field(repr=False)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(block.block) for _, block in self.parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(index)
        part = bisect_right(self._ends, at)
        before = self._ends[part - 1] if part else 0
        return self._pack(part).row(at - before)

    def __iter__(self) -> Iterator[Row]:
        for pack in self.packs():
            yield from pack.rows()

    def packs(self) -> Iterator[Pack]:
        """Yield all rows in order; blocks are put together."""
        waiting: list[Pack] = []
        for part in range(len(self.parts)):
            waiting.append(self._pack(part))
            if sum(pack.count for pack in waiting) >= CHUNK:
                yield Pack.joined(waiting)
                waiting = []
        if waiting:
            yield Pack.joined(waiting)

    def _pack(self, part: int) -> Pack:
        store, block = self.parts[part]
        pack = None
        if block.content is not None:
            pack = decode(block.content)
        elif store is not None:
            pack = store.get(block.key)
        if pack is None or pack.count != len(block.block):
            origin = store.path(block.key) if store else "memory"
            raise ParcastError(f"{origin} was removed or damaged; run the study again")
        return pack
