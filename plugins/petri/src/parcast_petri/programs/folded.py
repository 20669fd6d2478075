"""A program as the paper draws it: segments between messages, and loops that are kept as loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import NOTHING, OPS, TIMING, matched_program
from parcast_petri.machine.load import loads_of
from parcast_petri.nets.net import Net
from parcast_petri.options import Options, options_of
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.networks import Routes, networks_of
from parcast_petri.programs.paper import Loop, Segment, Send, paper_net

#: Loops of more segments than these are not looked for.
_LONGEST = 64


@attrs.frozen
class FoldedNet:
    """A program's folded net, and what of the program it may tell otherwise."""

    net: Net
    notes: tuple[str, ...] = ()


def folded_net(query: Query) -> FoldedNet:
    """Return the net of a program with its loops kept (Anglano 1998, section 3.1).

    Raises
    ------
    UnsupportedError
        If the program or the machine has what the paper's nets have no way to say.
    """
    options = options_of(query)
    segmentation = _Segmentation(query, options)
    processes = [fold_loops(segmentation.segments(rank)) for rank in range(query.p)]
    sharing = options.sharing if segmentation.costs.contention == "bus" else "none"
    servers = 1 if options.servers == "single" else None
    net, _ = paper_net(processes, sharing, servers)  # type: ignore[arg-type]
    return FoldedNet(attrs.evolve(net, name=query.workload.name), tuple(segmentation.notes()))


def fold_loops(segments: Sequence[Segment]) -> list[Segment | Loop]:
    """Return segments with those that come again and again as loops, the longest stretch first."""
    items: list[Segment | Loop] = []
    at = 0
    while at < len(segments):
        count, length = 1, 1
        for period in range(1, min(_LONGEST, (len(segments) - at) // 2) + 1):
            body, times = segments[at : at + period], 1
            while segments[at + times * period : at + (times + 1) * period] == body:
                times += 1
            if times > 1 and times * period > count * length:
                count, length = times, period
        if count == 1:
            items.append(segments[at])
        else:
            items.append(Loop(count, tuple(segments[at : at + length])))
        at += count * length
    return items


class _Segmentation:
    """What the operations of each process are as segments."""

    def __init__(self, query: Query, options: Options) -> None:
        program = matched_program(query, pools=True)
        self.sharing = options.sharing
        self.table, self.matching = program.columns, program.matching
        self.costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
        _refuse_words(options, self.costs)
        self.node = self.costs.placement.node
        self.loads = loads_of(query, self.node.tolist())
        if any(load.memory for load in self.loads.values()):
            raise UnsupportedError("the folded net has no background.memory; leave out --folded")
        self.cores = query.machine.nodes.cores
        self.ranks = np.repeat(np.arange(query.p), np.diff(self.table.offsets))
        self.charges = Charges.of(self.table, self.costs, self.ranks)
        networks = networks_of(query, self.costs)
        if len(networks) > 1:
            raise UnsupportedError("the folded net has one network; leave links.networks out")
        targets = np.maximum(self.table.dst, 0)
        self.routes = Routes.of(self.costs, networks, self.ranks, targets, self.table.amount)
        self.requests: dict[int, list[int]] = defaultdict(list)
        for wait, request in zip(self.table.wait_op, self.table.wait_request, strict=True):
            self.requests[int(wait)].append(int(request))

    def notes(self) -> list[str]:
        """Return what the net may tell otherwise than the program."""
        sizes: dict[str, set[float]] = defaultdict(set)
        for id_ in np.flatnonzero(self.table.dst >= 0).tolist():
            sizes[self._buffer(id_)].add(float(self.table.amount[id_]))
        notes = []
        if any(len(lengths) > 1 for lengths in sizes.values()):
            notes.append(
                "tokens are indistinguishable: where a message overtakes one of another length "
                "between the same processes, the folded net delivers it in the other's place; the "
                "net without --folded distinguishes them"
            )
        if self.sharing == "fixed_batch" and self.costs.contention == "bus":
            notes.append(
                "messages that start at the same instant may form other batches than without "
                "--folded, so that the bandwidth is divided by another number of them"
            )
        if self.sharing == "fixed_sequential" and self.costs.contention == "bus":
            notes.append(
                "messages that start at the same instant are counted in the order of the net, "
                "which differs without --folded; solve the file with --evaluation sequential"
            )
        return notes

    def segments(self, rank: int) -> list[Segment]:
        """Return the segments of a process."""
        segments = [Segment(work=0.0)]
        for id_ in range(int(self.table.offsets[rank]), int(self.table.offsets[rank + 1])):
            self._operation(segments, rank, id_)
        if len(segments) > 1 and segments[0] == Segment(work=0.0):
            return segments[1:]
        return segments

    def _operation(self, segments: list[Segment], rank: int, id_: int) -> None:
        by_message = self.costs.overhead_by == "message"
        call = 0.0 if by_message else float(self.costs.overhead_receive)
        match OPS[self.table.op[id_]]:
            case "compute" | "elapse":
                _work(segments, self._seconds(rank, id_))
            case "send" | "isend":
                self._send(segments, rank, id_)
            case "sendrecv":
                if self._receiving(id_):
                    self._refuse(id_, "a sendrecv where network.overhead_receive is not 0")
                self._send(segments, rank, id_)
                self._receive(segments, id_, 0.0)
            case "recv":
                self._receive(segments, id_, self._receiving(id_))
            case "irecv":
                _work(segments, call)
            case "wait" | "waitall":
                received = self._received(id_)
                taking = [self._receiving(request) * by_message for request in received]
                if len(received) > 1 and any(taking):
                    self._refuse(
                        id_, "a wait for several messages, each of which takes its receiver time,"
                    )
                for request, seconds in zip(received, taking, strict=True):
                    self._receive(segments, request, seconds)
                _work(segments, call)
            case "region" | "start":
                pass
            case word:
                self._refuse(id_, f"{word}()")

    def _received(self, wait: int) -> list[int]:
        """Return the requests of a wait that receive."""
        receives = self.matching.received_from
        return [request for request in self.requests[wait] if receives[request] != NOTHING]

    def _receiving(self, receive: int) -> float:
        """Return what taking a message keeps its receiver busy, in seconds."""
        send = int(self.matching.received_from[receive])
        return float(self.costs.receiving(float(self.table.amount[send])))

    def _seconds(self, rank: int, id_: int) -> float:
        """Return what a computation takes, as `petri.mean` has it."""
        seconds, load = self.charges.seconds[id_], self.loads.get(int(self.node[rank]))
        if load is None or not self.charges.cpu[id_]:
            return seconds
        processes = int(self.costs.placement.sharing[rank])
        cpu = self.charges.cpu[id_] * min(1.0, self.cores / processes)
        return max(cpu * load.factor(processes), seconds)

    def _send(self, segments: list[Segment], rank: int, id_: int) -> None:
        if self.table.amount[id_] > self.costs.eager_limit:
            self._refuse(id_, "a message over network.eager_limit")
        if self.costs.eager == "waits":
            self._refuse(id_, "a message that waits for its receive (network.eager = 'waits')")
        if self.costs.contention != "none" and self.node[rank] == self.node[self.table.dst[id_]]:
            self._refuse(id_, "a message within a node, beside a bus,")
        _work(segments, self.charges.seconds[id_])
        send = Send(self._buffer(id_), self.routes.startup[id_], self.routes.transfer[id_])
        segments[-1] = attrs.evolve(segments[-1], sends=(*segments[-1].sends, send))

    def _receive(self, segments: list[Segment], id_: int, overhead: float) -> None:
        send = int(self.matching.received_from[id_])
        if send == TIMING:
            self._refuse(id_, "a receive of any message")
        segments.append(Segment(work=overhead, receives=self._buffer(send)))

    def _buffer(self, send: int) -> str:
        tag = int(self.table.tag[send])
        return f"buf {self.table.dst[send]} from {self.ranks[send]}" + f" tag {tag}" * (tag != 0)

    def _refuse(self, id_: int, operation: str) -> None:
        raise UnsupportedError(
            f"{self.table.line(id_)}: {operation} is not in the paper's nets; leave --folded out"
        )


def _work(segments: list[Segment], seconds: float) -> None:
    """Let a process compute, before what the segment sends, or in a new one."""
    if not seconds:
        return
    if segments[-1].sends:
        segments.append(Segment(work=0.0))
    segments[-1] = attrs.evolve(segments[-1], work=segments[-1].work + seconds)


def _refuse_words(options: Options, costs: Costs) -> None:
    """Refuse words of the model that the paper's nets do not have."""
    if costs.contention in ("endpoint", "fair"):
        raise UnsupportedError(
            f"the folded net has one medium, and network.contention is {costs.contention}; set it "
            "to bus or none"
        )
    refused = {"startup": "inside", "sends": "blocking", "memory": "ps"}
    for option, word in refused.items():
        if getattr(options, option) == word:
            raise UnsupportedError(f"the folded net has no petri.{option}={word}")
    if costs.contention == "bus" and options.sharing in ("max_min", "fcfs"):
        raise UnsupportedError(
            f"the folded net has no petri.sharing={options.sharing}; set it to ps_transfer, "
            "ps_all, fixed_batch, fixed_sequential or none"
        )
