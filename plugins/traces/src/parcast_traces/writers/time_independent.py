"""Time-independent traces for SimGrid's replay: work and messages, without times.

Format: as `parcast_traces.readers.time_independent` reads it. Sizes are in bytes; computation is
written as operations, `RATE` of them a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parcast.errors import UnsupportedError
from parcast.files import write_lines
from parcast_traces.gaps import gaps_of, recorded_gaps, tick_of
from parcast_traces.trace.calls import ALL, WAIT
from parcast_traces.trace.columns import NONE, Floats, Trace
from parcast_traces.trace.decoding import Called, contributions, decoded, received

#: Operations that a second of computation becomes.
RATE = 1e9

#: Collectives by the arguments that follow their bytes.
_TOGETHER = {
    "barrier": "", "bcast": "{size} {root}", "reduce": "{size} 0 {root}", "allreduce": "{size} 0",
    "alltoall": "{size} {size}", "allgather": "{size} {size}", "gather": "{size} {size} {root}",
    "scatter": "{size} {size} {root}", "scan": "{size} 0", "exscan": "{size} 0",
    "allgatherv": "{size} {sizes}", "gatherv": "{size} {sizes} {root}",
    "scatterv": "{sizes} {size} {root}", "alltoallv": "{all} {same} {sum} {sizes}",
    "reducescatter": "{same} 0",
}  # fmt: skip
_ALIKE = {
    "alltoallw": "alltoallv", "reduce_scatter": "reducescatter",
    "reduce_scatter_block": "reducescatter", "comm_split": "barrier", "comm_dup": "barrier",
    "comm_create": "barrier",
}  # fmt: skip


def write(trace: Trace, path: Path) -> tuple[str, ...]:
    """Write a trace; return what was lost.

    Raises
    ------
    UnsupportedError
        If a call has no action in this format.
    """
    writer = _Writer(trace)
    write_lines(path, writer.lines())
    return tuple(writer.losses)


class _Writer:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.work = _work(trace)
        self.got = received(trace)
        self.losses = dict.fromkeys(
            ["how long calls took", f"computation is {RATE:g} operations a second"]
            if trace.timed
            else []
        )
        self.open: dict[int, tuple[int, int, int]] = {}
        self.contributions = contributions(trace)
        self.met = Counter[int]()  #: collectives of each communicator that the rank has come to

    def lines(self) -> Iterator[str]:
        for rank in range(self.trace.size):
            yield f"{rank} init"
            self.open, self.met = {}, Counter()
            for call in decoded(self.trace, rank, self.got):
                if self.work[call.row] > 0:
                    yield f"{rank} compute {_shortest(self.work[call.row])}"
                yield from (f"{rank} {action}" for action in self._actions(rank, call))
            yield f"{rank} finalize"

    def _actions(self, rank: int, call: Called) -> Iterator[str]:
        if call.kind == WAIT:
            yield from map(self._wait, call.completed)
            if len(call.completed) > 1:
                self.losses["a wait for several requests is written as several waits"] = None
            if not call.completed:
                self.losses["waits and tests that completed nothing"] = None
        elif call.name == "sleep":
            yield f"sleep {_shortest(call.size)}"
        elif call.kind >= ALL:
            yield self._together(call)
        elif call.name == "sendrecv":  # the format's own has no tags
            yield f"irecv {call.source} {self._tag(call, call.source_tag)} {_whole(call.got)}"
            yield f"send {call.to} {self._tag(call, call.tag)} {_whole(call.size)}"
            yield f"wait {call.source} {rank} {self._tag(call, call.source_tag)}"
        elif call.to != NONE or call.source != NONE:
            yield from self._message(rank, call)
        elif call.name == "request_free":
            self.losses["which requests are freed"] = None

    def _wait(self, request: int) -> str:
        key = self.open.pop(request)
        if key in (self.open[earlier] for earlier in self.open if earlier < request):
            self.losses["which of several messages with one peer and tag is waited for"] = None
        return f"wait {key[0]} {key[1]} {key[2]}"

    def _message(self, rank: int, call: Called) -> Iterator[str]:
        sends = call.to != NONE
        if call.name == "probe":
            self.losses["probes"] = None
            return
        tag = self._tag(call, call.tag if sends else call.source_tag)
        peer, size = (call.to, call.size) if sends else (call.source, call.got)
        if call.request != NONE:
            self.open[call.request] = (rank, peer, tag) if sends else (peer, rank, tag)
        word = ("send" if sends else "recv") if call.request == NONE else "isend"
        if not sends and call.request != NONE:
            word = "irecv"
        if call.name not in ("send", "isend", "recv", "irecv"):
            self.losses["synchronous, buffered and ready sends are written as plain sends"] = None
        yield f"{word} {peer} {tag} {_whole(size)}"

    def _tag(self, call: Called, tag: int) -> int:
        """Return a tag of its own for each tag and communicator."""
        return tag * len(self.trace.communicators) + call.comm

    def _together(self, call: Called) -> str:
        name = _ALIKE.get(call.name, call.name)
        members = self.trace.communicators[call.comm].tolist()
        if name not in _TOGETHER or members != list(range(self.trace.size)):
            kind = "collectives of some ranks" if name in _TOGETHER else "nonblocking collectives"
            raise UnsupportedError(f"{self.trace.place(call.row)} ({call.name}): time-independent "
                                   f"traces have no {kind}")  # fmt: skip
        if name == "barrier" and call.size:
            self.losses["bytes of barriers"] = None
        if name != call.name and name != call.name.replace("_", ""):
            self.losses[f"{call.name} is written as {name}"] = None
        sizes = [round(amount) for amount in self.contributions[call.comm][self.met[call.comm]]]
        size = round(call.size)
        self.met[call.comm] += 1
        fields = {
            "size": size, "root": call.root, "sizes": " ".join(map(str, sizes)), "sum": sum(sizes),
            "same": " ".join([str(size)] * len(sizes)), "all": size * len(sizes),
        }  # fmt: skip
        return f"{name} {_TOGETHER[name].format(**fields)}".rstrip()


def _work(trace: Trace) -> Floats:
    """Return the operations before each event."""
    if not trace.timed:
        return gaps_of(trace)
    return recorded_gaps(trace) * tick_of(trace) * RATE


def _shortest(amount: float) -> str:
    """Return a number that reads back as the same."""
    return repr(float(amount)).removesuffix(".0")


def _whole(size: float) -> str:
    return f"{size:.0f}"
