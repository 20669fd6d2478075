"""What one file of PyTorch's profiler holds: work on streams, communication, annotations."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from parcast.errors import FileError, shorten
from parcast_traces.readers.json_stream import members
from parcast_traces.trace.columns import Ints

#: Categories of events that have none: the profiler before Kineto tells them by their process.
_OF_PROCESSES = {"CPU functions": "cpu_op", "CUDA functions": "kernel"}

#: Categories of what devices do, by what they are called; older profilers have capitals.
DEVICE: Mapping[str, str] = {
    "kernel": "kernels", "gpu_memcpy": "copies", "memcpy": "copies", "gpu_memset": "fills",
    "memset": "fills", "mtia_ccp_events": "kernels",
}  # fmt: skip
_HOST = ("cpu_op", "operator")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "runtime", "xpu_runtime")
_ANNOTATIONS = ("user_annotation", "gpu_user_annotation")
_KERNEL = re.compile(r"^[nr]ccl|\b[nr]ccl(?:Dev)?Kernel", re.IGNORECASE)
#: Kernels that devices exchange data by, and that no library of collectives launches: symmetric
#: memory of PyTorch, DeepEP, the own sums of vLLM, SGLang, FlashInfer and AITER, NVSHMEM.
_BESIDE_NCCL = re.compile(
    r"multimem_\w*(?:reduce|gather)|(?:one|two)_shot_all_reduce|cross_device_reduce|nvshmem|"
    r"\bep::(?:\w+::)*(?:notify_)?(?:dispatch|combine)|deep_ep::|allreduce_fusion|quick_?reduce|"
    r"mscclpp",
    re.IGNORECASE,
)
_OPERATION = re.compile(r"^(gloo|mpi|nccl):")
#: What the host does to begin communication is no work that overlaps with it.
_BEGINS = ("c10d::", "record_param_comms", "gloo:", "nccl:", "mpi:")
#: A step of the profiler's schedule, without its number; older profilers call it an operation.
STEP = "ProfilerStep"
_NUMBER = re.compile(r"#\d+$")
#: What the profiler says of itself while it runs.
_MESSAGES = ("INFO", "WARNING", "ERROR", "stackFrames")

#: No time is beyond this, in microseconds: 140 years, of which a sum of two is in 64 bits of ns.
_MOST_TIME = 1 << 52

#: The correlation of what nothing launched.
NOBODY = -1

#: Where events are found together: the thread of the host, or the stream of a device.
Place = tuple[str, str]


@attrs.frozen
class Spell:
    """What took a time, in ns, and where."""

    start: int
    end: int
    name: str
    place: Place
    device: bool = False  #: and not the host
    args: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.define(eq=False)
class Profile:
    """One rank's file."""

    file: Path
    facts: dict[str, Any] = attrs.field(factory=dict)  #: of the tool and the run
    devices: list[Spell] = attrs.field(factory=list)  #: kernels that communicate
    operations: list[Spell] = attrs.field(factory=list)  #: of gloo, MPI and NCCL, of the host
    comms: list[Spell] = attrs.field(factory=list)  #: ``record_param_comms``
    annotations: dict[Place | None, list[Spell]] = attrs.field(
        factory=lambda: defaultdict[Place | None, list[Spell]](list)
    )
    launches: dict[int, tuple[int, Place]] = attrs.field(factory=dict)  #: by correlation
    work: dict[Place, array[int]] = attrs.field(
        factory=lambda: defaultdict[Place, "array[int]"](lambda: array("q"))
    )
    """Starts and ends in turn of what streams of devices do, without communication."""
    correlations: dict[Place, array[int]] = attrs.field(
        factory=lambda: defaultdict[Place, "array[int]"](lambda: array("q"))
    )
    """What says which launch each of the same is of, `NOBODY` where nothing does."""
    host: dict[Place, array[int]] = attrs.field(
        factory=lambda: defaultdict[Place, "array[int]"](lambda: array("q"))
    )
    counts: Counter[str] = attrs.field(factory=Counter)
    taken: Counter[str] = attrs.field(factory=Counter)  #: ns, summed
    own_exchange: dict[str, list[int]] = attrs.field(factory=dict)
    """Counts and ns of kernels that communicate, of which nothing says how much, by name."""
    untimed: int = 0  #: events that lack their times
    first: int = _MOST_TIME * 1000
    last: int = -_MOST_TIME * 1000

    @property
    def steps(self) -> list[Spell]:
        """The steps of the profiler's schedule, as the host had them."""
        return [span for span in self.annotations.get(None, ()) if span.name == STEP]

    @property
    def info(self) -> Mapping[str, Any]:
        """What the file says of the run's ranks."""
        info = self.facts.get("distributedInfo")
        return info if isinstance(info, dict) else {}

    def add(self, event: Any) -> None:
        """Take an event."""
        if not isinstance(event, dict) or event.get("ph") != "X":
            self.untimed += isinstance(event, dict) and event.get("ph") == "B"
            return
        of_process = _OF_PROCESSES.get(str(event.get("pid")), "")
        category, name = str(event.get("cat", of_process)), str(event.get("name", ""))
        if category == "Trace":  # the profiler's own
            return
        kind = category.lower()
        communicates = (kind == "kernel" and bool(_KERNEL.search(name))) or bool(
            _OPERATION.match(name)
        )
        start, duration = _ns(event.get("ts")), _ns(event.get("dur"))
        if start is None or duration is None or duration < 0:
            if communicates:
                raise FileError(f"{self.file}: {shorten(name)} has no ts or dur")
            self.untimed += 1
            return
        self.first, self.last = min(self.first, start), max(self.last, start + duration)
        spell = Spell(start, start + duration, name, _place(event), kind in DEVICE)
        self._put(event, kind, spell, communicates=communicates)

    def take_for_work(self, spells: Sequence[Spell]) -> None:
        """Take kernels of which nobody knows how they communicate for work of their streams."""
        for spell in spells:
            self._work(spell, spell.args)
        places = {id(spell) for spell in spells}
        self.devices = [spell for spell in self.devices if id(spell) not in places]

    def _work(self, spell: Spell, args: Mapping[str, Any]) -> None:
        self.work[spell.place].extend((spell.start, spell.end))
        number = args.get("correlation")
        matchable = isinstance(number, int) and 0 <= number < 1 << 62
        self.correlations[spell.place].append(int(number) if matchable else NOBODY)  # type: ignore[arg-type]

    def _put(
        self, event: Mapping[str, Any], kind: str, spell: Spell, *, communicates: bool
    ) -> None:
        """Put an event to others of its kind."""
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        label = DEVICE.get(kind, "host operations" if kind in _HOST else kind or "no category")
        if communicates or spell.name == "record_param_comms":
            spell = attrs.evolve(spell, args=args)
        if kind in DEVICE and communicates:
            label = "kernels that communicate"
            self.devices.append(spell)
        elif kind in DEVICE:
            if match := _BESIDE_NCCL.search(spell.name):
                sums = self.own_exchange.setdefault(match[0], [0, 0])
                sums[0] += 1
                sums[1] += spell.end - spell.start
            self._work(spell, args)
        elif communicates:
            label = "operations that communicate"
            self.operations.append(spell)
        elif spell.name == "record_param_comms":
            self.comms.append(spell)
        elif kind in _LAUNCHES and type(args.get("correlation")) is int:
            self.launches[args["correlation"]] = (spell.start, spell.place)
        elif kind in _ANNOTATIONS or (kind in _HOST and spell.name.startswith(f"{STEP}#")):
            place = spell.place if kind.startswith("gpu") else None
            name = _NUMBER.sub("", spell.name)
            self.annotations[place].append(attrs.evolve(spell, name=name))
        elif kind in _HOST and not spell.name.startswith(_BEGINS):
            self.host[spell.place].extend((spell.start, spell.end))
        self.counts[label] += 1
        self.taken[label] += spell.end - spell.start


def scan(file: Path) -> Profile:
    """Return what a file holds.

    Raises
    ------
    FileError
        If it is no trace of the profiler: nothing in it takes time.
    """
    profile = Profile(file)
    for name, value in members(file, "traceEvents"):
        if name == "traceEvents":
            profile.add(value)
        elif name not in _MESSAGES:
            profile.facts[name] = value
    if profile.last < profile.first:
        reason = (f": {profile.untimed:,} begin apart from their ends (B, E) or lack ts or dur, "
                  "which PyTorch's profiler does not write") if profile.untimed else (
                  "; was nothing recorded?")  # fmt: skip
        raise FileError(f"{file} has no event that takes time in its traceEvents{reason}")
    return profile


def merged(pairs: Any) -> tuple[Ints, Ints]:
    """Return starts and ends of the union of intervals."""
    table = np.asarray(pairs, np.int64).reshape(-1, 2)
    table = table[np.argsort(table[:, 0], kind="stable")]
    if not len(table):
        return table[:, 0], table[:, 1]
    reached = np.maximum.accumulate(table[:, 1])
    begins = np.flatnonzero(np.concatenate([[True], table[1:, 0] > reached[:-1]]))
    return table[begins, 0], reached[np.concatenate([begins[1:] - 1, [len(table) - 1]])]


def busy(pairs: Any) -> int:
    """Return the length of the union of intervals."""
    starts, ends = merged(pairs)
    return int((ends - starts).sum())


def _place(event: Mapping[str, Any]) -> Place:
    return str(event.get("pid")), str(event.get("tid"))


def _ns(time: Any) -> int | None:
    """Return a time of the file, in microseconds with any decimals, in ns."""
    if type(time) not in (int, Decimal) or not -_MOST_TIME < time < _MOST_TIME:
        return None
    rounded: int = round(time * 1000)
    return rounded
