"""What a kernel or an operation that communicates is: which call, of how many bytes, of whom."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.kineto.profile import Profile, Spell

#: Collectives by PyTorch's names, without underscores.
_NAMES = {
    "allreduce": "allreduce", "allreducecoalesced": "allreduce", "allgather": "allgather",
    "allreducebarrier": "allreduce", "allgatherbase": "allgather",
    "allgatherintotensor": "allgather", "allgatherintotensorcoalesced": "allgather",
    "allgathercoalesced": "allgather", "allgatherv": "allgatherv", "reducescatter":
    "reduce_scatter", "reducescatterbase": "reduce_scatter", "reducescattertensor":
    "reduce_scatter", "reducescattertensorcoalesced": "reduce_scatter", "alltoall": "alltoall",
    "alltoallv": "alltoallv", "alltoallbase": "alltoall", "alltoallsingle": "alltoall",
    "barrier": "barrier", "broadcast": "allreduce", "broadcastoop": "allreduce",
    "broadcastuniqueid": "allreduce", "reduce": "allreduce", "gather": "allgather",
    "scatter": "alltoall", "send": "send", "recv": "recv", "sendrecv": "alltoall",
}  # fmt: skip
_ROOTED = ("broadcast", "broadcastoop", "reduce", "gather", "scatter")
_ROOTLESS = "roots are not recorded: broadcasts and reductions wait for all; delays spread too far"
_UNNAMED = (
    "kernels of NCCL whose call nothing names are taken for what their names say; SendRecv for "
    "alltoall"
)
_EARLY = (
    "{:,} kernels of NCCL, {:.6g} s, were launched before the profile began, and nothing says what "
    "they do: they count as computation"
)
_BYTELESS = "operations of {} whose bytes are not recorded count as 0 bytes"
_KERNEL = re.compile(
    r"(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv|AllToAll)", re.IGNORECASE
)
_PEERS = re.compile(r"\b(send|recv)\s+(\d+)\s*(?:->|<-)\s*(\d+)")

_BYTES = {
    "Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Short": 2, "Byte": 1,
    "Char": 1, "Bool": 1, "ComplexFloat": 8, "ComplexDouble": 16,
    "float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "int": 4, "long int": 8,
    "short int": 2, "unsigned char": 1, "signed char": 1, "bool": 1, "long": 8,
}  # fmt: skip

#: No tensor has more elements.
_MOST = 1 << 60


@attrs.frozen
class Call:
    """A call, between ns; the peer of a message, and the ranks of its group: None is all."""

    start: int
    end: int
    operation: str
    site: str
    size: float
    spell: Spell
    peer: int | None = None
    group: tuple[int, ...] | None = None
    label: str = ""  #: the group's name
    launched: int = 0  #: when the host began it
    stream: str = ""  #: of several that communicate, where no group is recorded


class Calls:
    """Tells the calls of one profile; notes are for all of a run."""

    def __init__(self, profile: Profile, notes: dict[str, None]) -> None:
        self.profile, self.notes = profile, notes
        self.number = 0
        self.size: int | None = None  #: how many ranks groups say there are
        self.groups = _groups(profile.info)
        self.around = {
            kind: _by_place(spells)
            for kind, spells in (("comms", profile.comms), ("nccl", profile.operations))
        }

    def all(self) -> list[Call]:
        """Return all calls in the order of their starts.

        Raises
        ------
        UnsupportedError
            If one does not say what it did.
        """
        profile = self.profile
        early = [spell for spell in profile.devices if self._is_early(spell)]
        profile.take_for_work(early)
        if early:
            seconds = sum(spell.end - spell.start for spell in early) / 1e9
            self.notes[_EARLY.format(len(early), seconds)] = None
        ours = [spell for spell in profile.operations if not spell.name.startswith("nccl:")]
        if not profile.devices:
            launches = [spell for spell in profile.operations if spell.name.startswith("nccl:")]
            if launches:
                self.notes["kernels of NCCL are not in the file: its calls take as long as the "
                           "host took to launch them"] = None  # fmt: skip
            ours += launches
        spells = sorted([*profile.devices, *ours], key=lambda spell: (spell.start, spell.end))
        calls: dict[Any, Call] = {}
        for self.number, spell in enumerate(spells):
            host = self._host(spell)
            key = self.number if host is spell or "Collective name" in spell.args else id(host)
            if (earlier := calls.get(key)) is not None:  # several kernels of one call
                calls[key] = attrs.evolve(earlier, end=max(earlier.end, spell.end))
            else:
                calls[key] = self._call(spell, host)
        return _with_streams(sorted(calls.values(), key=lambda call: (call.start, call.end)))

    def _is_early(self, spell: Spell) -> bool:
        """Tell whether nothing says what a kernel does, as the file begins after its launch."""
        known = "Collective name" in spell.args or _KERNEL.search(spell.name)
        launches = self.profile.launches
        return bool(launches) and not known and spell.args.get("correlation") not in launches

    def _host(self, spell: Spell) -> Spell:
        """Return the operation of the host that launched a kernel, or what there is."""
        launch = self.profile.launches.get(spell.args.get("correlation"))  # type: ignore[arg-type]
        if "Collective name" in spell.args or launch is None:
            return spell
        for kind in ("comms", "nccl"):
            around = _around(self.around[kind], *launch)
            if around is not None and (kind == "nccl" or "Collective name" in around.args):
                return around
        return spell

    def _call(self, spell: Spell, host: Spell) -> Call:
        args, name = host.args, host.name
        collective = str(args.get("Collective name", ""))
        peers = _PEERS.search(name)
        word = collective or (peers[1] if peers else re.sub(r"^(gloo|nccl|mpi):", "", name))
        word = word.lower().replace("_", "")
        if word not in _NAMES and host is spell and not collective:
            match = _KERNEL.search(name)
            word = match[1].lower() if match else word
            self.notes[_UNNAMED] = None
        operation = _NAMES.get(word)
        if operation is None:
            raise UnsupportedError(
                f"{self._place}: {shorten(name)} does not say which collective it is "
                f"({shorten(collective)!r})"
            )
        if word in _ROOTED:
            self.notes[_ROOTLESS] = None
        launch = self.profile.launches.get(spell.args.get("correlation"))  # type: ignore[arg-type]
        group, label = self._group(args)
        peer = None
        if operation in ("send", "recv"):
            peer = self._peer(operation, args, name, peers)
        return Call(
            spell.start, spell.end, operation, word, self._size(args, name), spell, peer, group,
            label, launch[0] if launch else spell.start,
        )  # fmt: skip

    @property
    def _place(self) -> str:
        return f"{self.profile.file}: event {self.number + 1}"

    def _peer(self, operation: str, args: Mapping[str, Any], name: str, peers: Any) -> int:
        if name.startswith("gloo:"):
            raise UnsupportedError(f"{self._place}: {shorten(name)} ends when the message is "
                                   "posted, and nothing says when it came")  # fmt: skip
        peer = args.get("Dst Rank" if operation == "send" else "Src Rank")
        if type(peer) is not int and peers:
            peer = int(peers[3])
        if type(peer) is not int:
            raise UnsupportedError(f"{self._place}: a {operation} does not say its peer (Src "
                                   "Rank, Dst Rank)")  # fmt: skip
        return peer

    def _size(self, args: Mapping[str, Any], name: str) -> float:
        if "dtype" not in args:
            return self._shaped(args, name)
        kind = str(args["dtype"])
        elements = args.get("In msg nelems", args.get("In msg size", 0))
        if kind not in _BYTES and not kind.startswith("Float8"):
            raise UnsupportedError(f"{self._place}: {shorten(name)} is of type {shorten(kind)!r}, "
                                   "whose size is not known")  # fmt: skip
        if type(elements) is not int or not 0 <= elements <= _MOST:
            raise FileError(f"{self._place}: {shorten(name)} has no number of elements")
        return float(elements * _BYTES.get(kind, 1))

    def _shaped(self, args: Mapping[str, Any], name: str) -> float:
        """Return the bytes of an operation, from the shapes of its tensors."""
        kinds: Any = args.get("Input type")
        shapes: Any = args.get("Input Dims")
        if not kinds and not shapes:
            if not name.endswith("barrier"):
                library = "gloo" if name.startswith("gloo:") else "NCCL"
                self.notes[_BYTELESS.format(library)] = None
            return 0.0
        tensors = list(zip(kinds, shapes, strict=False)) if _lists(kinds, shapes) else []
        sized = all(isinstance(kind, str) and kind in _BYTES and _lists(shape)
                    and all(type(extent) is int and 0 <= extent <= _MOST for extent in shape)
                    for kind, shape in tensors)  # fmt: skip
        if not tensors or not sized:
            raise UnsupportedError(f"{self._place}: {shorten(name)} is of types or shapes whose "
                                   "size is not known")  # fmt: skip
        return sum(_BYTES[kind] * math.prod(map(float, shape)) for kind, shape in tensors)

    def _group(self, args: Mapping[str, Any]) -> tuple[tuple[int, ...] | None, str]:
        """Return the ranks of the process group, None for all, and its name."""
        text, label = str(args.get("Process Group Ranks", "")), args.get("Process Group Name", "")
        size = args.get("Group size")
        if isinstance(size, int) and not isinstance(size, bool):
            self.size = max(self.size or 0, size)
        if "..." not in text and re.fullmatch(r"\[[\d, ]+\]", text):
            return tuple(json.loads(text)), str(label)
        if label in self.groups:
            return self.groups[label], str(label)
        world = self.profile.info.get("world_size", self.size)
        if size not in (None, world):
            raise UnsupportedError(f"{self._place}: the ranks of a process group of {size} are "
                                   "not recorded")  # fmt: skip
        return None, ""


def _with_streams(calls: list[Call]) -> list[Call]:
    """Return calls with their streams, if groups are not recorded.

    NCCL has a stream for each of its communicators, in which calls have one order on all ranks.
    """
    if any(call.label or not call.spell.device for call in calls):
        return calls
    places = sorted({call.spell.place for call in calls}, key=lambda place: (len(place[1]), place))
    if len(places) < 2:
        return calls
    names = {place: f"stream {number}" for number, place in enumerate(places)}
    return [attrs.evolve(call, stream=names[call.spell.place]) for call in calls]


def _groups(info: Mapping[str, Any]) -> dict[Hashable, tuple[int, ...]]:
    """Return the ranks of the process groups that a file lists."""
    config = info.get("pg_config")
    groups: dict[Hashable, tuple[int, ...]] = {}
    for group in config if isinstance(config, list) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(ranks, list) and ranks and all(type(rank) is int for rank in ranks):
            groups[str(group.get("pg_name", ""))] = tuple(ranks)
    return groups


def _by_place(spells: Sequence[Spell]) -> dict[Any, tuple[list[int], list[Spell]]]:
    by_place: dict[Any, list[Spell]] = {}
    for spell in sorted(spells, key=lambda spell: (spell.start, -spell.end)):
        by_place.setdefault(spell.place, []).append(spell)
    return {place: ([spell.start for spell in own], own) for place, own in by_place.items()}


def _around(by_place: Mapping[Any, Any], time: int, place: Any) -> Spell | None:
    """Return the spell that began last around a time, at a place."""
    starts, spells = by_place.get(place, ((), ()))
    at = bisect_right(starts, time) - 1
    for spell in reversed(spells[max(0, at - 8) : at + 1]):  # they nest a few deep
        if spell.end >= time:
            return spell  # type: ignore[no-any-return]
    return None


def _lists(*values: Any) -> bool:
    return all(isinstance(value, list) for value in values)
