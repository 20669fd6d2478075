"""The pace of a study: how many points make a batch, learned from those that are done."""

from __future__ import annotations

import attrs

#: A batch is sized to take about this long, in seconds, and never less than half of it.
BATCH_SECONDS = 0.4

#: A batch is stored in so many blocks: no more than one of them is lost with a worker.
BLOCKS = 8

#: No batch has more points than this, however cheap they are.
MOST_POINTS = 2**15


@attrs.define
class Pace:
    """Sizes of batches and blocks, powers of 2."""

    _size: int = 1

    def learn(self, points: int, seconds: float) -> None:
        """Hear how long some points took."""
        wanted = points * BATCH_SECONDS / max(seconds, 1e-9)
        self._size = 1 << max(0, min(int(wanted), MOST_POINTS).bit_length() - 1)

    def stop(self, start: int, left: int) -> int:
        """Return where a batch ends, where ``left`` points would be a fair share of the rest.

        That is at a multiple of the size of its blocks, so that no small ones are left over.
        """
        end, block = start + max(1, min(self._size, left)), self.block()
        return end // block * block if end // block * block > start else end

    def block(self) -> int:
        """Return the most points in a block."""
        return max(1, self._size // BLOCKS)
