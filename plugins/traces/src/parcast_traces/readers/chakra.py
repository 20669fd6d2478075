"""Chakra execution traces: a graph of computation and communication for each processor.

Format: MLCommons Chakra, ``schema/protobuf/et_def.proto``: a file for each processor, messages with
their length before them, one of metadata and then the nodes; or the same as JSON, one object after
the other, as its ``jsonizer`` prints them; or an object with a ``workload_graph`` of all nodes.
Computation takes ``duration_micros``; what is of several threads or streams (``tid``) goes on at
the same time. How long communication took orders the streams, and counts only where no other
rank's file is here. Collectives are of all processors, or of the process group that ``pg_name``
names.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.errors import MissingRanksError
from parcast_traces.readers.playing import trace_of
from parcast_traces.readers.protobuf import MalformedError, delimited, fields, packed
from parcast_traces.readers.rank_files import rank_files
from parcast_traces.readers.schedules import Schedule, Step
from parcast_traces.trace.columns import Trace

#: No node is larger.
_MOST_NODE = 1 << 26
#: No trace in JSON is larger.
_MOST_JSON = 512 << 20

_KINDS = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV",
          "COMM_COLL")  # fmt: skip
#: Collectives by number; ``comm_root`` is the root of those that have one, else 0.
_TOGETHER = ("allreduce", "reduce", "allgather", "gather", "scatter", "bcast", "alltoall",
             "reduce_scatter", "reduce_scatter_block", "barrier")  # fmt: skip
#: The same by the names of NCCL's kernels, whose roots are not known.
_KERNELS = {"allreduce": "allreduce", "allgather": "allgather", "reducescatter": "reduce_scatter",
            "broadcast": "allreduce", "reduce": "allreduce", "sendrecv": "alltoall"}  # fmt: skip
_KERNEL = re.compile(rf"({'|'.join(_KERNELS)})", re.IGNORECASE)
_PLAIN = {3: "double_val", 5: "float_val"}
_ZIGZAG = (15, 17)


def read(path: Path, files: Sequence[Path] = ()) -> Trace:
    """Return the trace of which this is one processor's file.

    Raises
    ------
    FileError
        If a file is missing or is no execution trace.
    TraceError
        If no run can have left it.
    MissingRanksError
        If collectives are all that takes time, and other ranks have no file.
    UnsupportedError
        If a node cannot be timed, or is of a kind that is not modeled.
    """
    files = rank_files(path, files)
    ranks, groups, lost, alone, unsized = [], dict[str, set[int]](), 0, 0, 0
    for rank, file in enumerate(files):
        nodes = _Nodes(file, len(files))
        for node in _nodes(file):
            nodes.add(node)
        ranks.append(nodes.steps())
        lost, alone, unsized = lost + nodes.lost, alone + nodes.alone, unsized + nodes.unsized
        for step in ranks[-1]:
            if step.kind not in ("calc", "send", "recv"):
                groups.setdefault(step.group, set()).add(rank)
    members = {name: sorted(processors) for name, processors in groups.items() if name}
    note = (
        "control dependencies are ignored, as some are on nodes that are not in the file: they "
        "record who called"
    )
    notes = [note] if lost else []
    if alone:
        notes.append(f"{alone:,} collectives and messages take as long as recorded: no other "
                     "rank's file is here")  # fmt: skip
    if unsized:
        notes.append(f"{unsized:,} collectives do not say their bytes, and count as 0 bytes")
    if len(files) == 1 and groups:
        _check_takes_time(path, ranks[0])
        notes.append("collectives take no time, so that times are too low: no other rank's file is "
                     "here")  # fmt: skip
    return trace_of(Schedule(str(path), tuple(ranks), members, tuple(notes)))


def _check_takes_time(path: Path, steps: Sequence[Step]) -> None:
    """Refuse a rank alone whose whole time is in collectives: it would take none.

    Raises
    ------
    MissingRanksError
        If nothing else is in it.
    """
    if any(step.size for step in steps if step.kind == "calc"):
        return
    sizes = [step.size for step in steps if step.kind != "calc"]
    raise MissingRanksError(
        f"{path}: collectives are all that takes time in it, and no other rank's file is here; "
        "put the files of all ranks beside it",
        {"ranks": "1 of them", "collectives": f"{len(sizes):,} calls, {sum(sizes):,} bytes"},
    )


def _nodes(file: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the nodes of a file as objects."""
    source = _json_nodes if file.suffix.lower() == ".json" else _binary_nodes
    try:
        yield from source(file)
    except OSError as error:
        raise FileError(f"{file} cannot be read: {error.strerror}") from None
    except (MalformedError, struct.error, ValueError, OverflowError) as error:
        raise FileError(f"{file} is no execution trace of Chakra: {shorten(error)}") from None
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise FileError(
            f"{file} is no execution trace of Chakra: a node has another form than its tools write"
        ) from None


def _binary_nodes(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open("rb") as opened:
        messages = delimited(opened, _MOST_NODE)
        next(messages, None)  # the metadata
        for message in messages:
            node: dict[str, Any] = {"id": 0, "kind": 0, "duration": 0, "attr": {}}
            node |= {"data": [], "control": []}
            for number, value in fields(message):
                if number in (4, 5):
                    node["control" if number == 4 else "data"] += packed(value)
                elif number == 10 and isinstance(value, bytes):
                    name, content = _attribute(value)
                    node["attr"][name] = content
                elif number == 2 and isinstance(value, bytes):
                    node["name"] = value.decode("utf-8", "replace")
                elif number in (1, 3, 7) and isinstance(value, int):
                    node[{1: "id", 3: "kind", 7: "duration"}[number]] = value
            node["kind"] = _KINDS[node["kind"]] if node["kind"] < len(_KINDS) else "INVALID"
            yield node


def _named(node: Mapping[str, Any]) -> str:
    """Return the collective that the name of a kernel says, "" for none."""
    match = _KERNEL.search(str(node.get("name", "")))
    return _KERNELS[match[1].lower()] if match else ""


def _attribute(data: bytes) -> tuple[str, Any]:
    name = ""
    content: Any = None
    for number, value in fields(data):
        if number == 1 and isinstance(value, bytes):
            name = value.decode("utf-8", "replace")
        elif number == 29 and isinstance(value, bytes):
            content = value.decode("utf-8", "replace")
        elif number in _PLAIN and isinstance(value, bytes):
            content = struct.unpack("<d" if number == 3 else "<f", value)[0]
        elif number in _ZIGZAG and isinstance(value, int):
            content = (value >> 1) ^ -(value & 1)
        elif isinstance(value, int):
            content = value - (1 << 64) if value >> 63 else value
        elif number in (19, 21, 23, 25):
            content = int.from_bytes(value, "little", signed=number > 21)
    return name, content


def _json_nodes(file: Path) -> Iterator[Mapping[str, Any]]:
    if file.stat().st_size > _MOST_JSON:
        raise MalformedError(f"it has {file.stat().st_size >> 20:,} MiB")
    text, at, decoder = file.read_text("utf-8"), 0, json.JSONDecoder()
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        node, at = decoder.raw_decode(text, at)
        if not isinstance(node, dict):
            raise MalformedError("what is no object")
        if "workload_graph" in node:
            yield from (_graph_node(inner) for inner in node["workload_graph"])
            continue
        if "type" not in node:  # the metadata
            continue
        yield {
            "id": int(node.get("id", 0)),
            "kind": str(node["type"]).removesuffix("_NODE"),
            "name": str(node.get("name", "")),
            "duration": int(node.get("durationMicros", 0)),
            "data": [int(number) for number in node.get("dataDeps", [])],
            "control": [int(number) for number in node.get("ctrlDeps", [])],
            "attr": {
                attribute["name"]: _json_value(attribute) for attribute in node.get("attr", [])
            },
        }


def _graph_node(node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a node of a graph as simulators take it, with types by number."""
    number = int(node.get("NodeType", 0))
    known = ("comm_type", "comm_size", "comm_tag", "comm_src", "comm_dst", "comm_root", "pg_name")
    attr = {name: node[name] for name in (*known, "tid") if node.get(name) is not None}
    return {
        "id": int(node["Id"]),
        "name": str(node.get("Name", "")),
        "kind": _KINDS[number] if 0 <= number < len(_KINDS) else "INVALID",
        "duration": int(node.get("runtime", 0)),
        "data": [int(before) for before in node.get("data_deps", [])],
        "control": [int(before) for before in node.get("ctrlDeps", node.get("ctrl_deps", []))],
        "attr": {**attr, "is_cpu_op": int(bool(node.get("is_cpu_op")))},
    }


def _json_value(attribute: Mapping[str, Any]) -> Any:
    value = next((v for k, v in attribute.items() if k.endswith("Val")), None)
    wide = any(k.endswith(("64Val", "32Val")) for k in attribute)
    return int(value) if wide and value is not None else value


class _Nodes:
    """The nodes of one processor as steps."""

    def __init__(self, file: Path, size: int) -> None:
        self.file, self.size = file, size
        self.nodes: list[tuple[Step, Mapping[str, Any]]] = []
        self.numbers: dict[int, int] = {}
        self.lost = 0  #: control dependencies that are left out
        self.alone = 0  #: calls whose other ranks have no file
        self.unsized = 0  #: collectives that do not say their bytes
        self.streams: dict[tuple[str, str], int] = {}

    def add(self, node: Mapping[str, Any]) -> None:
        where = f"{self.file}: node {node['id']}"
        if node["id"] in self.numbers:
            raise FileError(f"{where} comes twice")
        if node["duration"] < 0:
            raise FileError(f"{where} takes {node['duration']} us, less than no time")
        self.numbers[node["id"]] = len(self.nodes)
        step = self._step(node, where)
        attr = node["attr"]
        place = "host" if attr.get("is_cpu_op") else "device", str(attr.get("tid", ""))
        step.cpu = self.streams.setdefault(place, len(self.streams))
        if step.kind != "calc":
            step.takes = int(node["duration"]) * 1000
        self.nodes.append((step, node))

    def _step(self, node: Mapping[str, Any], where: str) -> Step:
        kind, attr = node["kind"], node["attr"]
        host = attr.get("is_cpu_op") == 1  # a truth of JSON, or a number of protobuf
        if kind == "METADATA" or (host and not node["duration"]):
            return Step("calc", 0)
        starts = host and kind == "COMM_COLL" and "comm_size" not in attr  # what a device then does
        if starts or kind in ("COMP", "MEM_LOAD", "MEM_STORE"):
            if not node["duration"] and (attr.get("num_ops") or attr.get("tensor_size")):
                raise UnsupportedError(
                    f"{where} ({kind}) has operations and bytes, and no duration; add how "
                    "long it takes (duration_micros)"
                )
            return Step("calc", int(node["duration"]) * 1000)
        if kind.startswith("COMM") and self.size == 1 and node["duration"]:
            self.alone += 1
            return Step("calc", int(node["duration"]) * 1000)
        if kind == "COMM_COLL" and "comm_size" not in attr and (word := _named(node)):
            self.unsized += 1
            return Step(word, 0, 0, group=str(attr.get("pg_name") or ""))
        size = self._number(attr, "comm_size", where)
        if kind in ("COMM_SEND", "COMM_RECV"):
            word, peer = ("send", "comm_dst") if kind == "COMM_SEND" else ("recv", "comm_src")
            peer_rank = self._number(attr, peer, where)
            if peer_rank >= self.size:
                raise FileError(f"{where}: {peer} is {peer_rank}, and there are files of "
                                f"{self.size} processors")  # fmt: skip
            return Step(word, size, peer_rank, self._number(attr, "comm_tag", where, 0))
        if kind == "COMM_COLL":
            number = self._number(attr, "comm_type", where)
            if number >= len(_TOGETHER):
                raise UnsupportedError(f"{where}: collective {number} is not modeled")
            root = self._number(attr, "comm_root", where, 0)
            return Step(_TOGETHER[number], size, root, group=str(attr.get("pg_name") or ""))
        raise FileError(f"{where} is of type {shorten(kind)}, which is none of Chakra's")

    def _number(
        self, attr: Mapping[str, Any], name: str, where: str, default: int | None = None
    ) -> int:
        value = attr.get(name, default)
        if type(value) is not int or value < 0:
            raise FileError(f"{where}: {name} must be a whole number, not {shorten(value)}")
        return value

    def steps(self) -> list[Step]:
        """Return all nodes.

        Control dependencies on nodes that are not there are of the converter of PyTorch's traces:
        they say who called, data dependencies have the whole order.
        """
        controls = {node_id for _, node in self.nodes for node_id in node["control"]}
        self.lost = 0 if controls <= self.numbers.keys() else len(controls)
        for step, node in self.nodes:
            needs = [*node["data"], *(() if self.lost else node["control"])]
            for needed in dict.fromkeys(needs):
                if needed not in self.numbers:
                    raise FileError(
                        f"{self.file}: node {node['id']} waits for node {needed}, which is not "
                        "there; is the file cut off?"
                    )
                step.ended.append(self.numbers[needed])
        return [step for step, _ in self.nodes]
