"""The store: finished blocks of points, one file a key, written at once or not at all."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs
import msgspec

from parcast.results.packing import Pack
from parcast.results.row import SCHEMA

#: Bytes of the digest of a point, and of a key.
SIZE = 16


@attrs.frozen
class Block:
    """The points ``start`` to before ``stop`` of one solver."""

    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def blocks(start: int, stop: int, limit: int) -> Iterator[Block]:
    """Cut points into blocks whose sizes are powers of 2, each at a multiple of its size.

    Whatever was cut before, the same blocks come again, so they are found again.
    """
    while start < stop:
        size = min(limit, start & -start or limit)
        while start + size > stop:
            size //= 2
        yield Block(start, start + size)
        start += size


def block_key(digests: bytes, block: Block) -> str:
    """Return the key of a block; ``digests`` holds the digest of each point of its solver."""
    part = memoryview(digests)[block.start * SIZE : block.stop * SIZE]
    return blake2b(part, digest_size=SIZE).hexdigest()


def encode(pack: Pack) -> bytes:
    """Return the content of a file."""
    data = {"schema": SCHEMA, **pack.to_dict()}
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:  # a message may name a file whose name is not in UTF-8
        return json.dumps(data, separators=(",", ":")).encode()


def decode(content: bytes) -> Pack | None:
    """Return the rows in a file's content, or None where it is no such file."""
    try:
        data = _data(content)
        return Pack.from_dict(data) if data["schema"] == SCHEMA else None
    except (ValueError, TypeError, KeyError):
        return None


def _data(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except msgspec.DecodeError:
        return json.loads(content)


@attrs.frozen
class Store:
    """A folder of finished blocks."""

    folder: Path

    def path(self, key: str) -> Path:
        """Return where the block with this key is, or will be."""
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Pack | None:
        """Return the block's rows, or None where it is not there, or not whole."""
        try:
            return decode(self.path(key).read_bytes())
        except OSError:
            return None

    def _has(self, key: str, count: int) -> bool:
        """Tell whether the block is there, and whole."""
        if not os.path.exists(self.path(key)):  # noqa: PTH110  (twice as fast, for many)
            return False
        pack = self.get(key)
        return pack is not None and pack.count == count

    def put(self, key: str, content: bytes) -> None:
        """Write a block: whole, or, if this fails or is interrupted, not at all.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        path = self.path(key)
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(content)
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

    def stored_blocks(self, digests: bytes, count: int) -> Iterator[Block]:
        """Yield the blocks of a solver's points that are there, in order, the largest first."""
        top = 1 << max(count - 1, 0).bit_length()
        waiting = [Block(0, top)] if os.path.isdir(self.folder) else []  # noqa: PTH112  (never raises)
        while waiting:
            block = waiting.pop()
            if block.start >= count:
                continue
            if block.stop <= count and self._has(block_key(digests, block), len(block)):
                yield block
            elif len(block) > 1:
                middle = (block.start + block.stop) // 2
                waiting += [Block(middle, block.stop), Block(block.start, middle)]


def missing(stored: Sequence[Block], count: int) -> Iterator[Block]:
    """Yield the stretches of points between blocks."""
    reached = 0
    for block in stored:
        if block.start > reached:
            yield Block(reached, block.start)
        reached = block.stop
    if reached < count:
        yield Block(reached, count)
