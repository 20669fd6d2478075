"""Traces of PyTorch's profiler (Kineto): a JSON file for each rank, in Chrome's trace-event format.

What communicates are the kernels of NCCL and RCCL and the operations of gloo and MPI: each is a
collective or a message from its start to its end; all between is computation. A call beside
which the device computes, or another call goes on, is begun at its start and waited for when that
computation ends. Arguments say name, elements, type and process group, or those of the host's
operation that launched the kernel do; roots are not recorded, so what has one waits for all.
Messages of gloo are refused: their operations end when the message is posted. Every rank has a
clock of its own. A region is the annotation (``record_function``) that began last around a call's
start: of a kernel in its own stream, of gloo, whose threads are its own, in any; steps of the
profiler are one region. What they launched is also a run of its own, that repeats one step.

The rank and the number of ranks stand in the file (``distributedInfo``), else in the file's name
if it says them beyond doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.quantities import format_seconds
from parcast_traces.errors import MissingRanksError, TraceError
from parcast_traces.readers.kineto.calls import Call, Calls
from parcast_traces.readers.kineto.facts import facts_of, knows_none
from parcast_traces.readers.kineto.profile import Profile, scan
from parcast_traces.readers.kineto.ranks import by_rank, group_of, missing_ranks, world_size
from parcast_traces.readers.kineto.timeline import Timeline, alike, timeline
from parcast_traces.readers.rank_files import files_beside
from parcast_traces.trace.columns import Steps, Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording


def read(path: Path, files: Sequence[Path] = (), *, assume_alike: bool = False) -> Trace:
    """Return the trace of which this is one rank's file.

    Parameters
    ----------
    path
        The file.
    files
        Those of all ranks; else they are sought beside the file.
    assume_alike
        Whether ranks whose files are missing did what the first that is here did.

    Raises
    ------
    FileError
        If a file is no trace of the profiler, or two are of one rank.
    TraceError
        If no run can have left it.
    MissingRanksError
        If ranks that communicated have no file.
    UnsupportedError
        If communication does not say what it did.
    """
    notes: dict[str, None] = {}
    profiles = [scan(file) for file in files or files_beside(path, sure=True)]
    numbered = by_rank(profiles, path, sought=not files)
    if len(numbered) < len(profiles):
        notes["files beside it with such a name are left out: nothing says that they are of one "
              "run"] = None  # fmt: skip
    calls = {rank: Calls(profile, notes) for rank, profile in numbered.items()}
    timelines = alike({rank: timeline(numbered[rank], c.all()) for rank, c in calls.items()})
    size = world_size(numbered, (own.size for own in calls.values()), path)
    about = facts_of(list(numbered.values()))
    if knows_none(list(numbered.values())):
        notes["no event is of a kind that PyTorch's profiler has: another tool's, whose time "
              "is from the first event to the last"] = None  # fmt: skip
    exchanges = _own_exchanges(numbered.values())
    if exchanges:
        notes[exchanges] = None
    if not any(own.calls for own in timelines.values()):
        notes["no communication is recorded: all time is computation" if not exchanges else
              "no collective is recorded: all time is computation"] = None  # fmt: skip
        if size is not None and len(timelines) < size:
            notes[f"the run had {size} ranks; these are {len(timelines)} of them"] = None
        timelines = dict(enumerate(timelines[rank] for rank in sorted(timelines)))
        size = len(timelines)
    elif sentence := missing_ranks(path, timelines, size):
        if not assume_alike:
            raise MissingRanksError(sentence, about)
        if size is None:
            record = partial(_alone, path=path, about=about)
            return _with_steps(record, {0: next(iter(timelines.values()))})
        notes[f"rank {min(timelines)} stands for the {size - len(timelines)} ranks that have no "
              "file (--assume-alike)"] = None  # fmt: skip
    if size is None:
        size = max(timelines) + 1
        notes[f"no file says how many ranks the run had; {size} is assumed"] = None
    record = partial(_together, size=size, path=path, about=about, notes=tuple(notes))
    return _with_steps(record, timelines)


def _with_steps(
    record: Callable[[Mapping[int, Timeline]], Trace], timelines: Mapping[int, Timeline]
) -> Trace:
    """Return a run as recorded, and its steps alone, where all ranks have as many."""
    trace = record(timelines)
    counts = {timeline.steps and len(timeline.steps.host) for timeline in timelines.values()}
    if not any(counts):
        return trace
    if len(counts) > 1:
        return _without_steps(trace, "not all ranks have as many")
    try:
        stretches = {rank: timeline.of_steps() for rank, timeline in timelines.items()}
        of_steps = record(stretches)
    except TraceError as error:
        return _without_steps(trace, str(error))
    slowest = max(stretches.values(), key=lambda timeline: timeline.last - timeline.first)
    assert slowest.steps is not None
    notes = tuple(_left_out(slowest.steps.filling / 1e9))
    steps = attrs.evolve(of_steps, notes=(*of_steps.notes, *notes))
    return attrs.evolve(
        trace,
        notes=(*trace.notes, *notes),
        steps=Steps(steps, np.diff(slowest.steps.finished) / 1e9),
    )


def _left_out(seconds: float) -> Iterator[str]:
    """Yield the note on what the first step waits for devices that had nothing to do before."""
    if seconds > 0:
        yield (f"devices are idle as the first step begins: {format_seconds(seconds)} until they "
               "have work, which later steps hide behind others, are left out")  # fmt: skip


def _without_steps(trace: Trace, reason: str) -> Trace:
    note = f"the profiler's steps do not repeat each other: {reason}; the time is of the whole run"
    return attrs.evolve(trace, notes=(*trace.notes, note))


def _together(
    timelines: Mapping[int, Timeline], *, size: int, path: Path, about: Mapping[str, Any],
    notes: tuple[str, ...],
) -> Trace:  # fmt: skip
    """Return a run of several ranks; the first stands for those without a timeline."""
    recording = Recording(size, str(path))
    model = min(timelines)
    for recorder in recording.ranks:
        source = recorder.rank if recorder.rank in timelines else model
        _record(recorder, timelines[source], source, path)
    trace = recording.trace(tick=1e-6, notes=notes)
    return attrs.evolve(trace, about=about)


def _own_exchanges(profiles: Iterable[Profile]) -> str:
    """Return what to say of kernels that communicate without a library, "" of none."""
    count, taken, names = 0, 0, dict[str, None]()
    for profile in profiles:
        for name, (kernels, ns) in profile.own_exchange.items():
            count, taken, names[name] = count + kernels, taken + ns, None
    if not count:
        return ""
    shown = ", ".join(list(names)[:3])
    return (f"{count:,} kernels, {taken / 1e9:.6g} s, communicate without NCCL ({shown}), and "
            "nothing says how much: they take as long as recorded on any machine")  # fmt: skip


def _alone(timelines: Mapping[int, Timeline], *, path: Path, about: Mapping[str, Any]) -> Trace:
    """Return a rank of a run of unknown size: its calls take as long as recorded."""
    (own,) = timelines.values()
    recording = Recording(1, str(path))
    recorder, before = recording.ranks[0], own.first
    recorder.local("init", 0.0, 0.0)
    for call in own.calls:
        start, end = max(call.start, before), max(call.end, before)
        recorder.local("call", own.us(start), own.us(end), site=call.site)
        before = end
    recorder.local("finalize", own.us(own.last), own.us(own.last))
    note = (f"nothing says how many ranks communicated: {len(own.calls):,} collectives and "
            "messages take as long as recorded")  # fmt: skip
    return attrs.evolve(recording.trace(tick=1e-6, notes=(note,)), about=about)


def _record(recorder: RankRecorder, own: Timeline, source: int, path: Path) -> None:
    """Record what a rank did for itself, or for another that is taken to be alike."""
    names, rank = recorder.names, recorder.rank

    def group(call: Call) -> str | int:
        members = group_of(call.group, source, rank, names.size, path)
        if members is None and not call.stream:
            return 0
        if members is None:
            names.communicator(call.stream, range(names.size))
            return call.stream
        name = f"{call.label} {list(members)}"
        if name not in names.labels:
            names.communicator(name, members)
        return name

    def peer(call: Call) -> int | None:
        if call.peer is None or rank == source:
            return call.peer
        return (call.peer + rank - source) % names.size

    own.record(recorder, [group(call) for call in own.calls], [peer(call) for call in own.calls])
