"""A process as its net is built: where its token is, and when it came there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from parcast_petri.programs.accounting import Records
from parcast_petri.programs.net_builder import OUTSET, NetBuilder, timed


@attrs.define(eq=False)
class Process:
    """Build what a process does, one step after another."""

    builder: NetBuilder
    records: Records
    rank: int
    at: str  #: the place of its token
    moment: int = OUTSET  #: when the token came there

    def step(
        self, word: str, name: str, pre: Iterable[str] = (), post: Iterable[str] = (), **fields: Any
    ) -> int:
        """Build what the process does next; return the moment it is done."""
        after = f"{word} done {name}"
        self.moment = self.builder.transition(
            f"{word} {name}",
            {self.at: 1, **dict.fromkeys(pre, 1)},
            {after: 1, **dict.fromkeys(post, 1)},
            **fields,
        )
        self.at = after
        return self.moment

    def busy(
        self,
        word: str,
        name: str,
        seconds: float,
        pre: Iterable[str] = (),
        post: Iterable[str] = (),
    ) -> None:
        """Build what the process does for a message, and note its time."""
        since = self.moment
        self.step(word, name, pre, post, **timed(seconds))
        self.records.busy(self.rank, "communication", since, self.moment)
