"""Matching whole blocks: how most programs are proven to end, however many ranks they have."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parcast.program.source.operations import RECEIVES, SENDS
from parcast.program.unroll.blocks import Block, Column, Unrolled

#: A tag, and the number of a set of channels from one rank to another.
_Key = tuple[int, int]


def ends_in_block_order(unrolled: Unrolled, eager_limit: float) -> bool:
    """Return whether the blocks, run one after another by all ranks, are seen to end.

    That is so if sends and receives use sets of channels of which any two are equal or
    disjoint, if the k-th block that sends on a set has a k-th block that receives on it, and
    if what each block waits for starts in an earlier one, or in the same exchange. ``False``
    says nothing: rank by rank all may still be well. Collectives are not looked at.
    """
    channels = _Channels(unrolled.size)
    sends: defaultdict[_Key, list[int]] = defaultdict(list)
    receives: defaultdict[_Key, list[int]] = defaultdict(list)
    due: dict[int, int] = {}  # the first wait for the requests of a block
    for ordinal, block in enumerate(unrolled.blocks):
        tag = block.arguments.get("tag", 0)
        if isinstance(tag, np.ndarray):
            return False
        for request in block.requests:
            due.setdefault(ordinal - request.back, ordinal)
        if block.op in SENDS:
            sends[tag, channels.number(block, "dst")].append(ordinal)
        if block.op in RECEIVES:
            receives[tag, channels.number(block, "src")].append(ordinal)
    return (
        sends.keys() == receives.keys()
        and channels.disjoint(sends)
        and all(
            len(sends[key]) == len(receives[key])
            and all(
                _meet(unrolled.blocks, pair, due, eager_limit)
                for pair in zip(sends[key], receives[key], strict=True)
            )
            for key in sends
        )
    )


def _meet(blocks: Any, pair: tuple[int, int], due: dict[int, int], eager_limit: float) -> bool:
    """Return whether the sends of one block and the receives of another both end in order."""
    send, receive = pair
    if send == receive:  # one exchange: all post their receive, and then wait
        return True
    late = np.any(blocks[send].arguments["bytes"] > eager_limit)
    return send < due.get(receive, receive) and (not late or receive < due.get(send, send))


class _Channels:
    """Numbers the sets of channels of blocks; equal sets have one number."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._seen: dict[tuple[int, object, str], int] = {}
        self._numbers: dict[bytes, int] = {}
        self._sets: list[NDArray[np.int64]] = []

    def number(self, block: Block, peer: str) -> int:
        """Return the number of the channels on which a block sends (``dst``) or receives."""
        column = block.arguments[peer]
        shared = id(column) if isinstance(column, np.ndarray) else column
        key = (id(block.ranks), shared, peer)
        if key not in self._seen:
            self._seen[key] = self._numbered(block, column, peer)
        return self._seen[key]

    def _numbered(self, block: Block, column: Column, peer: str) -> int:
        ranks = np.arange(self._size) if block.ranks is None else block.ranks
        source, to = (ranks, column) if peer == "dst" else (column, ranks)
        channels = np.sort(np.asarray(source * self._size + to, dtype=np.int64))
        digest = hashlib.blake2b(channels.tobytes(), digest_size=16).digest()
        if digest not in self._numbers:
            self._numbers[digest] = len(self._sets)
            self._sets.append(channels)
        return self._numbers[digest]

    def disjoint(self, keys: Iterable[_Key]) -> bool:
        """Return whether no two sets that share a tag share a channel."""
        by_tag: defaultdict[int, set[int]] = defaultdict(set)
        for tag, number in keys:
            by_tag[tag].add(number)
        for numbers in {frozenset(used) for used in by_tag.values()}:
            together = np.concatenate([self._sets[number] for number in numbers])
            if len(np.unique(together)) < len(together):
                return False
        return True
