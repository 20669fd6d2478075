"""One-sided calls as events: what their synchronization waits for.

A fence is a barrier that carries what its rank has moved since the last one. Between a ``post``
and a ``start`` goes a message, and between a ``complete`` and a ``wait`` one that carries what was
put; what a ``get`` fetches is there when its ``complete`` ends. Under a lock, a ``flush`` and an
``unlock`` wait until all before them is done in the target's memory, a way there and back later.
Waiting for a lock that another rank holds is refused: nothing says who came first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Literal

import attrs

from parcast_traces.errors import TraceError
from parcast_traces.trace.rank_recorder import RankRecorder

#: The tags of the messages behind ``start`` and ``wait``, less 2 for every window before.
_POSTED, _COMPLETED = -101, -102

#: These bring something back, so that ``complete`` waits for them.
_FETCHES = frozenset(["get", "get_accumulate", "fetch_and_op", "compare_and_swap"])

Epoch = Literal["fence", "start", "lock"]


@attrs.define(eq=False)
class Window:
    """What one rank has open in a window."""

    recorder: RankRecorder
    name: Hashable
    comm: Hashable
    number: int
    fenced: bool = False
    started: Sequence[int] = ()
    posted: Sequence[int] = ()
    locked: set[int] = attrs.field(factory=set)
    all_locked: bool = False
    moved: dict[int, float] = attrs.field(factory=lambda: defaultdict(float))
    pending: dict[int, list[Hashable]] = attrs.field(factory=lambda: defaultdict(list))
    exclusive: set[int] = attrs.field(factory=set)  #: whom it ever locked for itself alone
    shared: set[int] = attrs.field(factory=set)

    def access(self, call: str, start: float, end: float, target: int, size: float) -> None:
        """Record a ``put``, ``get`` or the like; ``size`` is what it moves, there or back."""
        request = None
        if self.epoch(call, target) == "lock" or (target in self.started and call in _FETCHES):
            request = f"{call} in window {self.name} by {self.recorder.place}"
            self.pending[target].append(request)
        else:
            self.moved[target] += size
        self.recorder.access(call, start, end, target, size, self.comm, request)

    def epoch(self, call: str, target: int) -> Epoch:
        """Return what lets this rank reach a target."""
        if self.all_locked or target in self.locked:
            return "lock"
        if target in self.started:
            return "start"
        if self.fenced:
            return "fence"
        raise self._error("no_epoch", f"{call} reaches rank {target} in window {self.name}, and no "
                          "win_fence, win_start or win_lock before it allows that")  # fmt: skip

    def together(self, call: str, start: float, end: float) -> None:
        """Record what all ranks of the window call."""
        size = sum(self.moved.values()) if call == "win_fence" else 0.0
        if call == "win_fence":
            self.fenced = True
            self.moved.clear()
        self.recorder.collective(call, start, end, size, self.comm)

    def expose(self, start: float, end: float, group: Sequence[int]) -> None:
        """Record a ``win_post``: these ranks may reach this one."""
        self.recorder.local("win_post", start, end)
        self.posted = group
        self._notify("win_post", end, dict.fromkeys(group, 0.0), _POSTED)

    def begin(self, start: float, end: float, group: Sequence[int]) -> None:
        """Record a ``win_start``: this rank will reach these, once they have posted."""
        self.started = group
        self._expect("win_start", start, end, group, _POSTED)

    def complete(self, start: float, end: float) -> None:
        """Record a ``win_complete``."""
        if not self.started:
            raise self._error("no_epoch", f"win_complete ends no win_start of window {self.name}")
        requests = [request for target in self.started for request in self.pending.pop(target, [])]
        self.recorder.wait("win_complete", start, end, requests)
        moved = {target: self.moved.pop(target, 0.0) for target in self.started}
        self.started = ()
        self._notify("win_complete", end, moved, _COMPLETED)

    def wait(self, call: str, start: float, end: float) -> None:
        """Record a ``win_wait``, or the ``win_test`` that found all completed."""
        if not self.posted:
            raise self._error("no_epoch", f"{call} ends no win_post of window {self.name}")
        group, self.posted = self.posted, ()
        self._expect(call, start, end, group, _COMPLETED)

    def lock(
        self, call: str, start: float, end: float, target: int | None, *, exclusive: bool
    ) -> None:
        """Record a ``win_lock``, or of all ranks a ``win_lock_all``."""
        if target is None:
            self.all_locked = True
        else:
            self.locked.add(target)
        mine = self.exclusive if exclusive else self.shared
        mine.update(range(self.recorder.names.size) if target is None else [target])
        self.recorder.local(call, start, end)

    def flush(self, call: str, start: float, end: float, target: int | None) -> None:
        """Record a flush or an unlock, of one rank or of all."""
        locked = self.all_locked if target is None else (self.all_locked or target in self.locked)
        if not locked:
            whom = "all" if target is None else f"rank {target}"
            raise self._error("no_epoch", f"{call} in window {self.name}, and {whom} is not locked")
        targets = list(self.pending) if target is None else [target]
        requests = [request for rank in targets for request in self.pending.pop(rank, [])]
        if call == "win_unlock_all":
            self.all_locked = False
        elif call == "win_unlock" and target is not None:
            self.locked.discard(target)
        self.recorder.wait(call, start, end, requests)

    def _notify(self, call: str, at: float, sizes: dict[int, float], tag: int) -> None:
        tag -= 2 * self.number
        for target, size in sizes.items():
            self.recorder.send("win_notice", at, at, target, size, tag, self.comm, site=call)

    def _expect(
        self, call: str, start: float, end: float, group: Sequence[int], tag: int
    ) -> None:  # fmt: skip
        requests = [("expected", self.name, rank) for rank in group]
        for source, request in zip(group, requests, strict=True):
            self.recorder.receive(
                "win_expect", start, start, source, tag - 2 * self.number, self.comm,
                request=request, site=call,
            )  # fmt: skip
        self.recorder.wait(call, start, end, requests)

    def _error(self, name: str, sentence: str) -> TraceError:
        return TraceError(name, f"{self.recorder.place}: {sentence}", self.recorder.names.where)


class Windows:
    """The windows of all ranks, numbered as they come."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._windows: dict[tuple[Hashable, int], Window] = {}

    def of(self, recorder: RankRecorder, name: Hashable, comm: Hashable) -> Window:
        """Return a rank's side of a window."""
        number = self._numbers.setdefault(name, len(self._numbers))
        key = name, recorder.rank
        if key not in self._windows:
            self._windows[key] = Window(recorder, name, comm, number)
        return self._windows[key]

    def check_locks(self) -> None:
        """Refuse windows of which a rank is locked by another alone, and by a third.

        Raises
        ------
        TraceError
            Naming the ranks.
        """
        holders: dict[tuple[Hashable, int], set[int]] = defaultdict(set)
        for (name, rank), window in self._windows.items():
            for target in window.exclusive | window.shared:
                holders[name, target].add(rank)
        for (name, rank), window in self._windows.items():
            for target in sorted(window.exclusive):
                if others := holders[name, target] - {rank}:
                    raise TraceError(
                        "lock_order",
                        f"rank {rank} locks window {name} of rank {target} for itself alone, and "
                        f"rank {min(others)} locks it too; who came first is not recorded, so "
                        "waiting for locks is not modeled",
                        window.recorder.names.where,
                    )
