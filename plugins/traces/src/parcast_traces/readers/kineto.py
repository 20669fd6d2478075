"""Traces of PyTorch's profiler (Kineto): a JSON file for each rank, in Chrome's trace-event format.

What counts are NCCL's kernels (and ``gloo:`` operations of the processor): each is a collective or
a message from its start to its end, in the order of their starts; all between is computation.
Their arguments say name, elements, type and process group (gloo's only the elements, where the
profiler recorded shapes); roots are not recorded, so what has one waits for all.
Messages of gloo are refused: their operations end when the message is posted. Every rank has a
clock of its own. A region is the annotation (``record_function``) that began last around a call's
start: of a kernel in its own stream, of gloo, whose threads are its own, in any; steps of the
profiler are one region.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.neutral import load
from parcast_traces.readers.rank_files import check_size, rank_files
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.rank_recorder import RankRecorder
from parcast_traces.trace.recording import Recording

#: Collectives by PyTorch's names, without underscores.
_NAMES = {
    "allreduce": "allreduce", "allreducecoalesced": "allreduce", "allgather": "allgather",
    "allgatherbase": "allgather", "allgatherintotensorcoalesced": "allgather",
    "reducescatter": "reduce_scatter", "reducescatterbase": "reduce_scatter",
    "reducescattertensorcoalesced": "reduce_scatter", "alltoall": "alltoall",
    "alltoallv": "alltoallv", "alltoallbase": "alltoall", "barrier": "barrier",
    "broadcast": "allreduce", "reduce": "allreduce", "gather": "allgather",
    "scatter": "alltoall", "send": "send", "recv": "recv",
}  # fmt: skip
_ROOTED = ("broadcast", "reduce", "gather", "scatter")
_ROOTLESS = "roots are not recorded: broadcasts and reductions wait for all; delays spread too far"

_BYTES = {
    "Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Short": 2, "Byte": 1,
    "Char": 1, "Bool": 1, "ComplexFloat": 8, "ComplexDouble": 16,
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8,
    "short int": 2, "unsigned char": 1, "signed char": 1, "bool": 1,
}  # fmt: skip

#: Categories of annotations, and names among them that are communication.
_ANNOTATIONS = ("user_annotation", "gpu_user_annotation")
_OPERATIONS = ("gloo:", "nccl:")

#: No tensor has more elements.
_MOST = 1 << 60


def read(path: Path, files: Sequence[Path] = ()) -> Trace:
    """Return the trace of which this is one rank's file.

    Raises
    ------
    FileError
        If a file is missing or is no trace of the profiler.
    TraceError
        If no run can have left it.
    UnsupportedError
        If communication overlaps, or does not say what it did.
    """
    files = rank_files(path, files)
    recording = Recording(len(files), str(path))
    notes: dict[str, None] = {}
    size_known, communicates = False, False
    for recorder, file in zip(recording.ranks, files, strict=True):
        data = load(file)
        if not isinstance(data, dict) or not isinstance(data.get("traceEvents"), list):
            raise FileError(f"{file} is no trace of PyTorch's profiler: it has no traceEvents")
        size_known |= _check_rank(file, data.get("distributedInfo"), recorder.rank, len(files))
        writer = _Writer(recorder, file, notes)
        communicates |= writer.write(data["traceEvents"])
        size_known |= writer.size_known
    if communicates and not size_known:
        _check_alone(path, len(files))
        notes[f"no file says how many ranks the run had; {len(files)} is assumed"] = None
    if not communicates:
        notes["no communication is recorded: all time is computation"] = None
    return recording.trace(tick=1e-6, notes=tuple(notes))


def _check_rank(file: Path, info: Any, rank: int, files: int) -> bool:
    """Refuse a file of another rank or run; return whether it says how many ranks there were."""
    if not isinstance(info, dict):
        return False
    has_size = isinstance(info.get("world_size"), int)
    if has_size:
        check_size(file, files, info["world_size"])
    if info.get("rank", rank) != rank:
        raise FileError(f"{file}: this is rank {info['rank']}, and the file's name says {rank}")
    return has_size


def _check_alone(path: Path, files: int) -> None:
    """Refuse one rank that communicates, as its collectives would cost nothing."""
    if files == 1:
        raise UnsupportedError(
            f"{path}: the rank communicates, and no other rank's file is here; give the files of "
            "all ranks, named by their number"
        )


class _Writer:
    """Records the communication of one rank."""

    def __init__(self, recorder: RankRecorder, file: Path, notes: dict[str, None]) -> None:
        self.recorder, self.file, self.notes = recorder, file, notes
        self.size_known = False  #: how many ranks there are

    def write(self, events: list[Any]) -> bool:
        """Record all events; return whether the rank communicates."""
        mine = sorted(self._mine(events), key=lambda call: call[0])
        around = _regions(mine, events)
        origin, last = self._span(events)
        before = 0.0
        self.recorder.local("init", 0.0, 0.0)
        for (start, end, event), self.recorder.region in zip(mine, around, strict=True):
            if start < before:
                raise UnsupportedError(
                    f"{self.file}: {self.recorder.place}: {shorten(event['name'])} begins at "
                    f"{start:.15g} us, before the communication ahead of it ends; a rank of a "
                    "message graph has one order"
                )
            before = end
            self._record(event, start - origin, end - origin)
        self.recorder.region = ""
        self.recorder.local("finalize", last - origin, last - origin)
        return bool(mine)

    def _span(self, events: list[Any]) -> tuple[float, float]:
        """Return when the first event of any kind begins, and when the last one ends."""
        spans = [span for event in events if (span := _times(event)) is not None]
        if not spans:
            raise FileError(f"{self.file} has no event that takes time; was nothing recorded?")
        return min(start for start, _ in spans), max(end for _, end in spans)

    def _mine(self, events: list[Any]) -> Iterator[tuple[float, float, Mapping[str, Any]]]:
        """Yield start, end and event of what communicates."""
        for number, event in enumerate(events):
            if not isinstance(event, dict) or event.get("ph") != "X":
                continue
            name = str(event.get("name", ""))
            kernel = event.get("cat") == "kernel" and name.lower().startswith("nccl")
            if not kernel and not name.startswith("gloo:"):
                continue
            times = (event.get("ts"), event.get("dur"))
            if any(type(time) not in (int, float) for time in times):
                raise FileError(f"{self.file}: event {number} ({shorten(name)}) has no ts or dur")
            start, duration = float(times[0]), float(times[1])  # type: ignore[arg-type]
            yield start, start + duration, event

    def _record(self, event: Mapping[str, Any], start: float, end: float) -> None:
        arguments = event.get("args")
        args: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
        name, collective = str(event["name"]), str(args.get("Collective name", ""))
        word = (collective or name.removeprefix("gloo:")).lower().replace("_", "")
        operation = _NAMES.get(word)
        if operation is None:
            raise UnsupportedError(
                f"{self.file}: {self.recorder.place}: {shorten(name)} does not say which "
                f"collective it is ({shorten(collective)!r})"
            )
        if word in _ROOTED:
            self.notes[_ROOTLESS] = None
        size = self._size(args, name)
        comm = self._group(args)
        if operation in ("send", "recv"):
            if name.startswith("gloo:"):
                raise UnsupportedError(
                    f"{self.file}: {self.recorder.place}: {shorten(name)} ends when the message is "
                    "posted, and nothing says when it came"
                )
            self._message(operation, args, (start, end), size, comm)
        else:
            self.recorder.collective(operation, start, end, size, comm, site=word)

    def _message(
        self, word: str, args: Mapping[str, Any], times: tuple[float, float], size: float, comm: Any
    ) -> None:
        peer = args.get("Dst Rank" if word == "send" else "Src Rank")
        if type(peer) is not int:
            raise UnsupportedError(f"{self.file}: {self.recorder.place}: a {word} does not say its "
                                   "peer (Src Rank, Dst Rank)")  # fmt: skip
        if word == "send":
            self.recorder.send(word, *times, peer, size, 0, comm)
        else:
            self.recorder.receive(word, *times, peer, 0, comm, size)

    def _size(self, args: Mapping[str, Any], name: str) -> float:
        if "dtype" not in args:
            return self._shaped(args, name)
        kind = str(args["dtype"])
        elements = args.get("In msg nelems", args.get("In msg size", 0))
        if kind not in _BYTES and not kind.startswith("Float8"):
            raise UnsupportedError(f"{self.file}: {self.recorder.place}: {shorten(name)} is of "
                                   f"type {shorten(kind)!r}, whose size is not known")  # fmt: skip
        if type(elements) is not int or not 0 <= elements <= _MOST:
            raise FileError(f"{self.file}: {self.recorder.place}: {shorten(name)} has no number of "
                            "elements")  # fmt: skip
        return float(elements * _BYTES.get(kind, 1))

    def _shaped(self, args: Mapping[str, Any], name: str) -> float:
        """Return the bytes of an operation of gloo, from the shapes of its tensors."""
        kinds: Any = args.get("Input type")
        shapes: Any = args.get("Input Dims")
        if not kinds and not shapes:
            if not name.endswith("barrier"):
                self.notes["operations of gloo whose bytes are not recorded count as 0 bytes"] = (
                    None
                )
            return 0.0
        tensors = list(zip(kinds, shapes, strict=False)) if _lists(kinds, shapes) else []
        sized = all(isinstance(kind, str) and kind in _BYTES and _lists(shape)
                    and all(type(extent) is int and 0 <= extent <= _MOST for extent in shape)
                    for kind, shape in tensors)  # fmt: skip
        if not tensors or not sized:
            raise UnsupportedError(f"{self.file}: {self.recorder.place}: {shorten(name)} is of "
                                   "types or shapes whose size is not known")  # fmt: skip
        return sum(_BYTES[kind] * math.prod(map(float, shape)) for kind, shape in tensors)

    def _group(self, args: Mapping[str, Any]) -> Any:
        """Return the process group, which is new if its name is."""
        text = str(args.get("Process Group Ranks", ""))
        size = args.get("Group size")
        self.size_known |= isinstance(size, int)
        names = self.recorder.names
        if "..." in text or not re.fullmatch(r"\[[\d, ]+\]", text):
            if size not in (None, names.size):
                raise UnsupportedError(
                    f"{self.file}: {self.recorder.place}: the ranks of a process group of {size} "
                    "are not recorded"
                )
            return 0
        ranks = json.loads(text)
        if ranks == list(range(names.size)):
            return 0
        name = f"{args.get('Process Group Name', '')} {text}"
        if name not in names.labels:
            names.communicator(name, ranks)
        return name


def _regions(
    mine: Sequence[tuple[float, float, Mapping[str, Any]]], events: list[Any]
) -> list[str]:
    """Return the annotation that began last around the start of each call, "" for none."""
    spans: dict[Any, list[tuple[float, float, str]]] = defaultdict(list)
    for event in events:
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or name.startswith(_OPERATIONS):
            continue
        times = (event.get("ts"), event.get("dur"))
        if event.get("cat") in _ANNOTATIONS and all(type(time) in (int, float) for time in times):
            start, duration = map(float, times)
            span = (start, start + duration, re.sub(r"#\d+$", "", name))
            spans[_stream(event)].append(span)
    for stream_spans in spans.values():
        stream_spans.sort(key=lambda span: (span[0], -span[1]))
    open_: dict[Any, list[tuple[float, float, str]]] = defaultdict(list)
    at = Counter[Any]()
    regions = []
    for start, _, event in mine:
        key = _stream(event)
        while at[key] < len(spans[key]) and spans[key][at[key]][0] <= start:
            open_[key].append(spans[key][at[key]])
            at[key] += 1
        open_[key] = [span for span in open_[key] if span[1] > start]
        regions.append(open_[key][-1][2] if open_[key] else "")
    return regions


def _times(event: Any) -> tuple[float, float] | None:
    """Return start and end of an event of the program, None of others, such as the profiler's."""
    if not isinstance(event, dict) or event.get("ph") != "X" or event.get("cat") == "Trace":
        return None
    start: Any = event.get("ts")
    duration: Any = event.get("dur")
    if type(start) not in (int, float) or type(duration) not in (int, float) or duration < 0:
        return None
    return float(start), float(start) + float(duration)


def _stream(event: Mapping[str, Any]) -> Any:
    """Return where annotations and what they are of are found together."""
    on_device = event.get("cat") in ("kernel", "gpu_user_annotation")
    return (str(event.get("pid")), str(event.get("tid"))) if on_device else None


def _lists(*values: Any) -> bool:
    return all(isinstance(value, list) for value in values)
