"""Simulating epochs of blocks on a cluster: the choice of the engine, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np

from parcast.errors import SolveError, UnsupportedError
from parcast_emulator.blocks import Blocks
from parcast_emulator.cluster import Cluster
from parcast_emulator.coupling import Coupling
from parcast_emulator.engines.applicable import why_not_feed_forward
from parcast_emulator.engines.usage import BUSY, Progress, Record, Usage

EngineName: TypeAlias = Literal["feed-forward", "merge", "tc"]
Engine: TypeAlias = EngineName | Literal["auto"]


@attrs.frozen(eq=False)
class Pass:
    """Blocks that were simulated together, with the times of their operations if asked for."""

    blocks: Blocks
    record: Record
    epoch: int  #: the first of these epochs
    lengths: tuple[int, ...]  #: how many blocks each epoch has


@attrs.frozen(eq=False, kw_only=True)
class Outcome:
    """What a simulation answers; seconds."""

    engine: EngineName
    reason: str | None  #: why none that is faster
    epoch_ends: tuple[float, ...]
    lower: float  #: no schedule of the same operations on these servers is shorter
    usage: Usage
    operations: int
    passes: tuple[Pass, ...] = ()  #: only of a recorded simulation

    @property
    def time(self) -> float:
        """The makespan."""
        return max(self.epoch_ends, default=0.0)


def simulate(
    cluster: Cluster,
    epochs: Iterable[Blocks],
    *,
    engine: Engine = "auto",
    coupling: Coupling | None = None,
    own_epochs: bool = False,
    record: bool = False,
    threads: int | None = None,
    most_messages: int | None = None,
    progress: Progress = lambda _time, _done: None,
) -> Outcome:
    """Simulate epochs of blocks.

    Parameters
    ----------
    cluster
        The machine.
    epochs
        One after another; with ``own_epochs`` all are in memory at once.
    engine
        ``auto`` is ``feed-forward`` where that applies, else ``merge``, and ``tc`` for fair shares.
    coupling
        How processes issue their calls, of the engine ``tc``.
    own_epochs
        Whether each node begins an epoch when its own operations of the last have ended,
        instead of all nodes together.
    record
        Whether the times of every operation are kept.
    threads, most_messages
        Of the feed-forward engine; neither changes any time.
    progress
        Called now and then with the time simulated and the operations done.

    Raises
    ------
    UnsupportedError
        If an engine is asked for that does not apply.
    SolveError
        If the blocks of one epoch are more than memory holds.
    """
    reason = why_not_feed_forward(cluster.hardware, own_epochs=own_epochs)
    name = _engine_name(engine, cluster, reason)
    simulator = _engine(name, cluster, coupling or Coupling(), threads, most_messages)
    epochs_run = _EpochsRun(simulator, record=record)
    try:
        epochs_run.run(epochs, progress, own_epochs=own_epochs)
    except MemoryError as error:
        raise SolveError(
            f"the blocks of one epoch do not fit in memory ({error}); use a smaller p, fewer "
            "blocks, or the same in more epochs"
        ) from None
    return Outcome(
        engine=name,
        reason=reason if engine == "auto" else None,
        epoch_ends=tuple(epochs_run.ends),
        lower=min(epochs_run.lower, max(epochs_run.ends, default=0.0)),  # but for rounding
        usage=simulator.usage,
        operations=epochs_run.operations,
        passes=tuple(epochs_run.passes),
    )


def _engine_name(engine: Engine, cluster: Cluster, reason: str | None) -> EngineName:
    """Return the engine, or say why the one that is asked for cannot follow the machine."""
    if engine == "feed-forward" and reason is not None:
        raise UnsupportedError(
            f"the feed-forward engine has no order of servers here, because {reason}; take "
            "the merge engine"
        )
    fair = cluster.hardware.fair_bus or cluster.hardware.fair_ports
    if engine in {"feed-forward", "merge"} and fair:
        raise UnsupportedError(
            f"the {engine} engine serves one request after another, and here what waits for a bus "
            "or a port shares it (bus.sharing or nic.sharing = 'fair'); take the engine tc"
        )
    if engine != "auto":
        return engine
    if fair:
        return "tc"
    return "feed-forward" if reason is None else "merge"


def _engine(
    name: EngineName,
    cluster: Cluster,
    coupling: Coupling,
    threads: int | None,
    most_messages: int | None,
) -> Any:
    """Return the engine of this name, its servers free; only its own modules are loaded."""
    if name == "tc":
        from parcast_emulator.processes.engine import TightlyCoupled

        return TightlyCoupled(cluster, coupling)
    if name == "merge":
        from parcast_emulator.engines.state import Merge

        return Merge(cluster)
    from parcast_emulator.engines.windows import FeedForward

    return FeedForward(cluster, threads, most_messages)


class _EpochsRun:
    """An engine on its way through the epochs."""

    def __init__(self, engine: Any, *, record: bool) -> None:
        self.engine, self.record = engine, record
        self.ends: list[float] = []
        self.lower = 0.0
        self.operations = 0
        self.passes: list[Pass] = []

    def run(self, epochs: Iterable[Blocks], progress: Progress, *, own_epochs: bool) -> None:
        """Simulate all epochs, in memory one at a time unless nodes begin them by themselves."""
        listed = list(epochs) if own_epochs else []
        if listed:
            self.own_epochs(listed, progress)
        else:
            for blocks in epochs:
                self.epoch(blocks, progress)

    def epoch(self, blocks: Blocks, progress: Progress) -> None:
        """Simulate an epoch that all nodes begin together."""
        usage, cluster = self.engine.usage, self.engine.cluster
        before = [rows[BUSY].copy() for rows in usage]
        recorded = self.begin_pass(blocks, [len(blocks.disk)])
        start = self.ends[-1] if self.ends else 0.0
        end = self.engine.epoch(recorded.blocks, start, recorded.record, progress)
        self.ends.append(max(start, end))
        self.lower += _longest(usage, cluster, before)

    def own_epochs(self, epochs: Sequence[Blocks], progress: Progress) -> None:
        """Simulate epochs that each node begins by itself."""
        joined = epochs[0].joined(epochs[1:])
        recorded = self.begin_pass(joined, [len(blocks.disk) for blocks in epochs])
        self.ends = self.engine.own_epochs(epochs, joined, recorded.record, progress)
        self.lower = _longest(self.engine.usage, self.engine.cluster, [0.0] * 5)

    def begin_pass(self, blocks: Blocks, lengths: list[int]) -> Pass:
        """Return a pass to be simulated, and keep it if its times are wanted."""
        self.operations += blocks.operations()
        if self.record:
            blocks = blocks._replace(consumers=blocks.consumers.as_lists())
        epoch = sum(len(earlier.lengths) for earlier in self.passes)
        recorded = Pass(blocks, Record.of(blocks, enabled=self.record), epoch, tuple(lengths))
        if self.record:
            self.passes.append(recorded)
        return recorded


def _longest(usage: Usage, cluster: Cluster, before: list[np.ndarray] | list[float]) -> float:
    """Return how long the busiest server was busy since then."""
    channels = (cluster.hardware.channels, 1, 1, 1, 1)
    return max(
        float(((rows[BUSY] - before_rows) / width).max(initial=0.0))
        for rows, before_rows, width in zip(usage, before, channels, strict=True)
    )


def verify(cluster: Cluster, epochs: Callable[[], Iterable[Blocks]]) -> Outcome:
    """Simulate with both engines, and return the outcome if the two are equal in every bit.

    Raises
    ------
    UnsupportedError
        If only one engine applies.
    SolveError
        If they differ, which is a defect.
    """
    feed_forward = simulate(cluster, epochs(), engine="feed-forward", record=True)
    merged = simulate(cluster, epochs(), engine="merge", record=True)
    same = feed_forward.epoch_ends == merged.epoch_ends and all(
        np.array_equal(a, b, equal_nan=True)
        for first, second in zip(feed_forward.passes, merged.passes, strict=True)
        for a, b in zip(first.record, second.record, strict=True)
    )
    if not same:
        raise SolveError(
            f"the engines differ: feed-forward ends at {feed_forward.time!r} s and merge at "
            f"{merged.time!r} s; please report this block list"
        )
    return feed_forward
