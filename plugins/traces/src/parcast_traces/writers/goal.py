"""Schedules in GOAL for LogGOPSim: computation and messages, and what each requires.

Format: as `parcast_traces.readers.goal` reads it. GOAL has no collectives: those of all become a
dissemination, those with a root a binomial tree, a scan a chain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parcast.files import write_lines
from parcast_traces.gaps import gaps_of, recorded_gaps, tick_of
from parcast_traces.trace.calls import ALL, EXSCAN, FROM_ROOT, NONBLOCKING, SCAN, TO_ROOT, WAIT
from parcast_traces.trace.columns import NONE, Floats, Trace
from parcast_traces.trace.decoding import Called, contributions, decoded, received

_COLLECTIVES = "collectives are written as messages (dissemination, binomial trees, chains)"


def write(trace: Trace, path: Path, *, unit: float = 1e-9) -> tuple[str, ...]:
    """Write a trace, computation in units of so many seconds; return what was lost.

    Raises
    ------
    UnsupportedError
        If the trace's times have no unit.
    """
    losses: dict[str, None] = {}
    write_lines(path, _lines(trace, losses, unit))
    return tuple(losses)


def _lines(trace: Trace, losses: dict[str, None], unit: float) -> Iterator[str]:
    if trace.timed and not trace.modeled:
        losses["how long calls took; computation is in whole ns"] = None
    gaps, got, sizes = _gaps(trace, unit), received(trace), contributions(trace)
    tags = len(trace.communicators) + 1
    yield f"num_ranks {trace.size}"
    for rank in range(trace.size):
        yield f"\nrank {rank} {{"
        yield from _Rank(trace, rank, tags, losses, sizes).lines(gaps, got)
        yield "}"


def _gaps(trace: Trace, unit: float) -> Floats:
    """Return the computation before each event in units of so many seconds."""
    recorded = trace.timed and not trace.modeled
    gaps = recorded_gaps(trace) if recorded else gaps_of(trace)
    return gaps * (tick_of(trace) / unit)


class _Rank:
    """The steps of one rank; ``last`` are the labels that the next step requires."""

    def __init__(
        self, trace: Trace, rank: int, tags: int, losses: dict[str, None], sizes: list[Floats]
    ) -> None:
        self.sizes = sizes  #: that `contributions` returns
        self.trace, self.rank, self.tags, self.losses = trace, rank, tags, losses
        self.count = 0
        self.last: list[str] = []
        self.begun: list[str] = []  #: that must have begun only
        self.open: dict[int, list[str]] = {}
        self.calls = Counter[int]()

    def lines(self, gaps: Floats, got: Floats) -> Iterator[str]:
        for call in decoded(self.trace, self.rank, got):
            if round(gaps[call.row]) > 0:
                yield from self._then(f"calc {gaps[call.row]:.0f}")
            yield from self._event(call)

    def _step(self, text: str, ended: list[str], begun: list[str]) -> Iterator[str]:
        """Yield a step and what it requires; its label is in ``self.label``."""
        self.count += 1
        self.label = f"l{self.count}"
        yield f"{self.label}: {text}"
        for word, labels in (("requires", ended), ("irequires", begun)):
            yield from (f"{self.label} {word} {label}" for label in labels)

    def _then(self, text: str) -> Iterator[str]:
        """Yield a step that comes after all before it."""
        yield from self._step(text, self.last, self.begun)
        self.last, self.begun = [self.label], []

    def _event(self, call: Called) -> Iterator[str]:
        if call.kind == WAIT:
            if call.completed:
                needs = [label for request in call.completed for label in self.open.pop(request)]
                self.last = [*self.last, *needs]
                yield from self._then("calc 0")
        elif call.kind >= ALL:
            yield from self._together(call)
        elif call.name == "probe":
            self.losses["probes"] = None
        elif call.to != NONE or call.source != NONE:
            yield from self._messages(call)

    def _messages(self, call: Called) -> Iterator[str]:
        labels = []
        before, begun = self.last, self.begun
        if call.name not in ("send", "isend", "recv", "irecv", "sendrecv"):
            self.losses["synchronous, buffered and ready sends are written as plain sends"] = None
        if call.to != NONE:
            text = self._sends(call.to, call.size, self._tag(call, call.tag))
            yield from self._step(text, before, begun)
            labels.append(self.label)
        if call.source != NONE:
            text = self._receives(call.source, call.got, self._tag(call, call.source_tag))
            yield from self._step(text, before, begun)
            labels.append(self.label)
        if call.request != NONE:  # others may begin once it has
            self.open[call.request] = labels
            self.begun = [*begun, *labels]
        else:
            self.last, self.begun = labels, []

    def _tag(self, call: Called, tag: int) -> int:
        return tag * self.tags + call.comm

    def _sends(self, to: int, size: float, tag: int) -> str:
        return f"send {self._size(size)}b to {to} tag {tag}"

    def _receives(self, source: int, size: float, tag: int) -> str:
        return f"recv {self._size(size)}b from {source} tag {tag}"

    def _size(self, size: float) -> int:
        if size < 1:
            self.losses["messages of 0 bytes are written with 1 byte"] = None
        return max(1, round(size))

    def _together(self, call: Called) -> Iterator[str]:
        self.losses[_COLLECTIVES] = None
        members = self.trace.communicators[call.comm].tolist()
        tag = self.calls[call.comm] * self.tags + len(self.trace.communicators)
        tag = tag * len(self.trace.communicators) + call.comm
        sizes = self.sizes[call.comm][self.calls[call.comm]]
        self.calls[call.comm] += 1
        position, kind = members.index(self.rank), call.kind
        kind -= NONBLOCKING if kind > EXSCAN else 0
        if call.request != NONE:
            self.losses["nonblocking collectives are written as blocking ones"] = None
            self.open[call.request] = []
        for sends, receives in _stages(kind, position, len(members), call, members):
            before, begun, labels = self.last, self.begun, []
            for peer in sends:
                yield from self._step(self._sends(members[peer], call.size, tag), before, begun)
                labels.append(self.label)
            for peer in receives:
                yield from self._step(
                    self._receives(members[peer], sizes[peer], tag), before, begun
                )
                labels.append(self.label)
            self.last, self.begun = labels, []


def _stages(
    kind: int, position: int, size: int, call: Called, members: list[int]
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield to whom a member sends and from whom it receives, stage by stage."""
    steps = [1 << k for k in range(max(0, size - 1).bit_length())]
    if kind in (SCAN, EXSCAN):
        if position > 0:
            yield [], [position - 1]
        if position < size - 1:
            yield [position + 1], []
        return
    if kind not in (FROM_ROOT, TO_ROOT):
        for step in steps:
            yield [(position + step) % size], [(position - step) % size]
        return
    root = members.index(call.root)
    mine = (position - root) % size
    down = [(mine + step + root) % size for step in steps if mine < step and mine + step < size]
    highest = 1 << (mine.bit_length() - 1) if mine else 0
    up = [(mine - highest + root) % size] if mine else []
    if kind == FROM_ROOT:
        if up:
            yield [], up
        for child in down:
            yield [child], []
        return
    for child in reversed(down):
        yield [], [child]
    if up:
        yield up, []
