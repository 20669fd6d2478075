"""Requests that are open, on many ranks at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast.program.unroll.arithmetic import LaneError
from parcast.program.unroll.lanes import Lanes, Memo, take

#: The block of a request by its place in the list, and the lanes that wait for it.
Waited = tuple[int, Lanes]


class OpenRequests:
    """The blocks whose requests are not waited for yet, by the lanes that have them open.

    A rank may be in several of these sets of lanes; most programs have a few.
    """

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._groups: dict[Lanes, dict[int, None]] = {}

    def post(self, ordinal: int, lanes: Lanes) -> None:
        """Open a request of the block ``ordinal`` on each lane."""
        self._groups.setdefault(lanes, {})[ordinal] = None

    def first(self) -> Waited | None:
        """Return the earliest block that has a request open."""
        return min(((min(g), lanes) for lanes, g in self._groups.items()), default=None, key=_place)

    def wait_all(self, lanes: Lanes) -> list[Waited]:
        """Close and return every request open on these lanes."""
        waited: list[Waited] = []
        for group in list(self._groups):
            common, remaining = self._split(group, lanes)
            if common is not None:
                closed = self._groups.pop(group)
                waited += [(ordinal, common) for ordinal in closed]
                if remaining is not None:
                    self._groups.setdefault(remaining, {}).update(closed)
        return sorted(waited, key=_place)

    def wait(self, lanes: Lanes, wanted: Any, name: str) -> list[Waited]:
        """Close and return the request of the block ``wanted``, a number for each lane or all.

        Raises
        ------
        LaneError
            If a lane has waited for its request before.
        """
        waited: list[Waited] = []
        for group, opened in list(self._groups.items()):
            common, _ = self._split(group, lanes) if self._any(wanted, opened) else (None, None)
            if common is not None:
                index = np.searchsorted(lanes.ranks, common.ranks)
                waited += self._close(group, common, take(wanted, index))
        closed = sum(len(part.ranks) for _, part in waited)
        if closed < len(lanes.ranks):
            left = np.isin(lanes.ranks, [r for _, part in waited for r in part.ranks], invert=True)
            sentence = f"waits for {name!r}, which it has already waited for"
            raise LaneError(sentence, lanes.ranks[left.argmax()])
        return sorted(waited, key=_place)

    def _any(self, wanted: Any, opened: dict[int, None]) -> bool:
        return isinstance(wanted, np.ndarray) or wanted in opened

    def _close(self, group: Lanes, common: Lanes, wanted: Any) -> list[Waited]:
        opened = self._groups[group]
        waited: list[Waited] = []
        for ordinal in np.unique(wanted).tolist():
            if ordinal not in opened:
                continue
            alike = np.broadcast_to(wanted == ordinal, common.ranks.shape)
            part = common if alike.all() else Lanes(common.ranks[alike])
            del opened[ordinal]
            _, remaining = self._split(group, part)
            if remaining is not None:
                self.post(ordinal, remaining)
            waited.append((ordinal, part))
        if not opened:
            del self._groups[group]
        return waited

    def _split(self, group: Lanes, lanes: Lanes) -> tuple[Lanes | None, Lanes | None]:
        """Return the lanes of ``group`` that are among ``lanes``, and the others."""
        if lanes is group or lanes.whole:
            return group, None
        split: tuple[Lanes | None, Lanes | None] = self._memo.get(
            OpenRequests, (group, lanes), lambda: _divided(group, lanes)
        )
        return split


def _divided(group: Lanes, lanes: Lanes) -> tuple[Lanes | None, Lanes | None]:
    positions = np.minimum(np.searchsorted(lanes.ranks, group.ranks), len(lanes.ranks) - 1)
    inside = lanes.ranks[positions] == group.ranks
    if not inside.any():
        return None, group
    if inside.all():
        return (lanes if len(group.ranks) == len(lanes.ranks) else group), None
    common = lanes if inside.sum() == len(lanes.ranks) else Lanes(group.ranks[inside])
    return common, Lanes(group.ranks[~inside])


def _place(waited: Waited) -> int:
    return waited[0]
