"""A program's operations as a net: what each one costs is ``docs/program.md``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.costs import Costs
from parcast.errors import UnsupportedError
from parcast.program.columns import OPS, Columns
from parcast.program.matching import NOTHING, TIMING
from parcast.program.operations import SENDS
from parcast.program.ready import matched
from parcast.query import Query
from parcast_petri.net import Net
from parcast_petri.options import Options
from parcast_petri.programs.computing import Computations, Computing, Work
from parcast_petri.programs.networks import Wires, networks_of, taken
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.others import Others, draw_others
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.records import Records
from parcast_petri.programs.sketch import OUTSET, Sketch, timed
from parcast_petri.programs.traffic import shared_with_others
from parcast_petri.programs.transfers import Letter, Transfers

#: The place that every process ends in.
END = "end"


@attrs.frozen(eq=False)
class ProgramNet:
    """The net of a program, and which of its moments say what."""

    net: Net
    records: Records
    computing: tuple[Computing, ...]
    others: Others  #: jobs and messages of others


def program_net(query: Query, options: Options, nodes: Nodes | None = None) -> ProgramNet:
    """Return the net of a query's program.

    Parameters
    ----------
    query
        A ``program`` on a machine.
    options
        How messages and memory traffic are shared.
    nodes
        What loaded nodes do to computations; None: nothing.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number, or the net has no way to say what the program does.
    """
    return _Lowering(query, options, nodes or Nodes()).made()


class _Lowering:
    def __init__(self, query: Query, options: Options, nodes: Nodes) -> None:
        found = matched(query)
        self.query, self.nodes, self.options = query, nodes, options
        self.table, self.matching = found.columns, found.matching
        self.costs = Costs.of(query, found.unrolled.needs())
        self.node = self.costs.placement.node.tolist()
        self.sketch, self.records = Sketch(), Records()
        self.share = np.minimum(1.0, query.machine.nodes.cores / self.costs.placement.sharing)
        self.overhead = float(self.costs.overhead_receive)
        self.networks = networks_of(query, self.costs)
        self._listed()
        self.requests: dict[int, list[int]] = defaultdict(list)
        pairs = zip(self.table.wait_op.tolist(), self.table.wait_request.tolist(), strict=True)
        for wait, request in pairs:
            self.requests[wait].append(request)
        self.rates = shared_with_others(query, options, self._rates(), explicit=nodes.explicit)
        self.transfers = Transfers(self.sketch, options, self.rates)
        self.computations = Computations(self.sketch, nodes)

    def _listed(self) -> None:
        """Note the columns as lists, which are faster to look up one by one than arrays."""
        table, counts = self.table, np.diff(self.table.offsets)
        self.ranks = np.repeat(np.arange(len(counts)), counts).tolist()
        self.offsets = table.offsets.tolist()
        self.op, self.dst, self.tag = table.op.tolist(), table.dst.tolist(), table.tag.tolist()
        self.late = (table.amount > self.costs.eager_limit).tolist()
        self.sent_to = self.matching.sent_to.tolist()
        self.received_from = self.matching.received_from.tolist()
        self.cpu, self.seconds = (one.tolist() for one in _seconds(table, self.costs))
        self.network, wire = _wires(table, self.costs, self.networks)
        self.wire = [one.tolist() for one in wire]

    def _rates(self) -> list[Rates]:
        """Return the links of each network between the nodes that send on it."""
        sends = np.flatnonzero(self.table.dst >= 0)
        node = self.costs.placement.node
        here, there = node[self.table.rank_of(sends)], node[self.table.dst[sends]]
        found = []
        for wires in self.networks:
            on = (self.network[sends] == wires.number) & (here != there)
            pairs = frozenset(zip(here[on].tolist(), there[on].tolist(), strict=True))
            waiting = self.options.servers == "single"
            fair = self.options.sharing == "max_min" and wires.contention != "none"
            found.append(Rates(wires, pairs, waiting=waiting, fair=fair))
        return found

    def made(self) -> ProgramNet:
        offsets = self.offsets
        for rank in range(self.query.p):
            self.rank, self.first = rank, offsets[rank]
            self.at, self.moment = f"start {rank}", OUTSET
            self.sketch.place(self.at, 1)
            for id_ in range(offsets[rank], offsets[rank + 1]):
                self._operation(id_)
            self.sketch.transition(f"end {rank}", {self.at: 1}, {END: 1})
            self.records.ends.append(self.moment)
        others = draw_others(
            self.sketch, self.query, self.nodes, self.rates[0],
            {one.node for one in self.computations.drawn},
        )  # fmt: skip
        for rates in self.rates:
            self.sketch.links += rates.net_links()
        net = self.sketch.net(self.query.workload.name)
        return ProgramNet(net, self.records, tuple(self.computations.drawn), others)

    def _name(self, id_: int) -> str:
        rank = self.ranks[id_]
        return f"{rank}.{id_ - self.offsets[rank]}"

    def _step(self, id_: int, word: str, pre: Any = (), post: Any = (), **rest: Any) -> int:
        """Draw what the process does next; return the moment it is done."""
        after = f"{word} done {self._name(id_)}"
        self.moment = self.sketch.transition(
            f"{word} {self._name(id_)}",
            {self.at: 1, **dict.fromkeys(pre, 1)},
            {after: 1, **dict.fromkeys(post, 1)},
            **rest,
        )
        self.at = after
        return self.moment

    def _operation(self, id_: int) -> None:
        match OPS[self.op[id_]]:
            case "compute" | "elapse" as word:
                self._work(id_, word)
            case "send" | "isend" as word:
                self._send(id_, word)
            case "recv":
                self._receive(id_)
            case "irecv":
                self._post(id_)
                if self.overhead:
                    self._busy(id_, "irecv", self.overhead)
            case "wait" | "waitall":
                self._wait(id_)
            case "sendrecv":
                self._exchange(id_)
            case "read" | "write" as word:
                self._access(id_, word)
            case "start":
                self.records.starts.append(self.moment)

    def _work(self, id_: int, word: str) -> None:
        since, rank = self.moment, self.rank
        cpu = float(self.cpu[id_])
        node = self.node[rank]
        if node in self.nodes.loads:
            cpu *= float(self.share[rank])
        work = Work(
            word=word,
            name=self._name(id_),
            node=node,
            cpu=cpu,
            seconds=float(self.seconds[id_]),
            traffic=self._traffic(id_),
            drawing=self._drawing(),
            processes=int(self.costs.placement.sharing[rank]),
        )
        self.at, self.moment = self.computations.draw(work, self.at)
        self.records.busy(rank, "compute", since, self.moment)

    def _traffic(self, id_: int) -> float:
        """Return the seconds of memory traffic that others may share, or 0."""
        bandwidth, memory = self.costs.memory_bandwidth, self.table.memory
        alone = self.costs.placement.sharing[self.rank] == 1
        if self.options.memory == "fixed" or alone or bandwidth is None or memory is None:
            return 0.0
        return float(memory[id_] / bandwidth)

    def _drawing(self) -> float:
        """Return how many cores draw what memory their node has, at least one."""
        of_node, of_core = self.costs.memory_bandwidth, self.costs.core_bandwidth
        return 1.0 if of_node is None or of_core is None else max(1.0, of_node / of_core)

    def _busy(self, id_: int, word: str, seconds: float, pre: Any = (), post: Any = ()) -> None:
        since = self.moment
        self._step(id_, word, pre, post, **timed(seconds))
        self.records.busy(self.rank, "communication", since, self.moment)

    def _leave(self, id_: int, word: str) -> None:
        """Draw the sender's own time, and the message's way from there."""
        name, seconds = self._name(id_), self.seconds[id_]
        if seconds:
            self._busy(id_, word, seconds, post=[f"ready {name}"])
        else:
            self.sketch.give(self.moment, f"ready {name}")
        self.records.flight[id_] = self.moment
        dst, rank = self.dst[id_], self.rank
        ready, arrived = {f"ready {name}": 1}, {self._arrived(id_): 1}
        if self.late[id_]:
            if self.sent_to[id_] == TIMING:
                raise UnsupportedError(
                    f"{self.table.line(id_)}: recv(ANY) may take a message above the eager limit, "
                    "which a net of anonymous tokens cannot tell apart; raise network.eager_limit"
                )
            begun = {f"met {name}": 1}
            self.records.flight[id_] = self.sketch.transition(
                f"meet {name}", {**ready, f"posted {name}": 1}, begun
            )
            ready = begun
        if self._waits(id_, word):
            arrived[f"sent {name}"] = 1
        if self.sent_to[id_] == TIMING:
            self.records.offer(self._arrived(id_), id_)
        startup, transfer = self.wire
        local = self.node[rank] == self.node[dst]
        letter = Letter(
            name=name,
            statement=f"{rank}.{int(self.table.site[id_])}",
            ready=ready,
            arrived=arrived,
            src=self.node[rank],
            dst=self.node[dst],
            startup=startup[id_],
            transfer=transfer[id_],
            network=None if local else int(self.network[id_]),
        )
        self.records.arrival[id_] = self.transfers.draw(letter)

    def _waits(self, id_: int, word: str) -> bool:
        """Tell whether a sender, or the wait for its request, awaits the arrival."""
        return bool(self.late[id_]) or (self.options.sends == "blocking" and word != "isend")

    def _arrived(self, send: int) -> str:
        if self.sent_to[send] == TIMING:
            return _inbox(self.dst[send], self.tag[send])
        return f"arrived {self._name(send)}"

    def _send(self, id_: int, word: str) -> None:
        self._leave(id_, word)
        if word == "send" and self._waits(id_, word):
            since = self.moment
            self._step(id_, "sent", [f"sent {self._name(id_)}"])
            self.records.wait(self.rank, since, [(None, id_)], None)

    def _post(self, id_: int, word: str = "post") -> None:
        """Draw the posting of a receive, where its message waits for it."""
        send = self.received_from[id_]
        if send >= 0 and self.late[send]:
            self._step(id_, word, post=[f"posted {self._name(send)}"])

    def _receive(self, id_: int) -> None:
        send = self.received_from[id_]
        self._post(id_)
        since = self.moment
        if send == TIMING:
            inbox = _inbox(self.rank, self.tag[id_])
            self._step(id_, "recv", [inbox], **timed(self.overhead))
            self.records.take(inbox, self.rank, since, self.moment)
            return
        self._step(id_, "recv", [self._arrived(send)], **timed(self.overhead))
        self.records.wait(self.rank, since, [(None, send)], self.moment)

    def _wait(self, id_: int) -> None:
        since, awaited, places = self.moment, [], []
        for request in self.requests[id_]:
            send = self.received_from[request]
            if send != NOTHING:
                if send == TIMING:
                    raise UnsupportedError(
                        f"{self.table.line(request)}: irecv(ANY) is matched by timing, which "
                        "petri takes from recv(ANY) only"
                    )
                awaited.append((None, send))
                places.append(self._arrived(send))
            elif self.late[request]:
                awaited.append((None, request))
                places.append(f"sent {self._name(request)}")
        self._step(id_, "wait", places, **timed(self.overhead))
        self.records.wait(self.rank, since, awaited, self.moment)

    def _exchange(self, id_: int) -> None:
        send, name = self.received_from[id_], self._name(id_)
        if send == TIMING:
            raise UnsupportedError(
                f"{self.table.line(id_)}: a sendrecv from ANY is matched by timing, which petri "
                "takes from recv(ANY) only"
            )
        self._leave(id_, "sendrecv")
        self._post(id_)
        since = self.moment
        received = f"received {name}"
        moment = self.sketch.transition(
            f"receive {name}",
            {self._arrived(send): 1},
            {received: 1},
            **timed(self.overhead),
        )
        own = [f"sent {name}"] if self._waits(id_, "sendrecv") else []
        self._step(id_, "exchanged", [received, *own])
        awaited = [(moment, send), *([(None, id_)] if own else [])]
        self.records.wait(self.rank, since, awaited, None)

    def _access(self, id_: int, word: str) -> None:
        since, name = self.moment, self._name(id_)
        block = self.table.unrolled.blocks[int(self.table.order[id_])]
        file = str(block.arguments["file"])
        disks = [self.sketch.place(f"disk {n}", 1) for n in self.costs.disks_of(self.rank, file)]
        seconds = float(self.costs.piece(float(self.table.amount[id_]), file))
        self._step(id_, "ask", post=[f"piece {name} {disk}" for disk in disks])
        for disk in disks:
            piece, held = f"piece {name} {disk}", f"held {name} {disk}"
            self.sketch.transition(
                f"take {name} {disk}", {piece: 1, disk: 1}, {held: 1}, queue=disk
            )
            self.sketch.transition(
                f"serve {name} {disk}", {held: 1}, {disk: 1, f"done {name} {disk}": 1},
                **timed(seconds),
            )  # fmt: skip
        self._step(id_, word, [f"done {name} {disk}" for disk in disks])
        self.records.busy(self.rank, "io", since, self.moment)


def _inbox(rank: int, tag: int) -> str:
    return f"inbox {rank} tag {tag}"


def _seconds(table: Columns, costs: Costs) -> tuple[Any, Any]:
    """Return each operation's own seconds without regard to memory, and with it."""
    rank = np.repeat(np.arange(len(table.offsets) - 1), np.diff(table.offsets))
    cpu, whole = np.zeros((2, len(table.op)))
    at = np.flatnonzero(table.among(("compute",)))
    if len(at):
        cpu[at] = table.amount[at] / (costs.rate * costs.placement.speed[rank[at]])
        whole[at] = costs.compute(rank[at], table.amount[at], _memory(table, at))
    at = np.flatnonzero(table.among(("elapse",)))
    cpu[at] = whole[at] = costs.elapse(rank[at], table.amount[at])
    at = np.flatnonzero(table.among(SENDS))
    whole[at] = costs.sending(table.amount[at])
    return cpu, whole


def _memory(table: Columns, at: Any) -> Any:
    return 0.0 if table.memory is None else table.memory[at]


def _wires(table: Columns, costs: Costs, networks: Sequence[Wires]) -> tuple[Any, tuple[Any, Any]]:
    """Return of each message its network, and its startup and the seconds of its bytes."""
    network = np.zeros(len(table.op), np.int64)
    startup, transfer = np.zeros((2, len(table.op)))
    sends = np.flatnonzero(table.dst >= 0)
    if len(sends):
        src, dst = table.rank_of(sends), table.dst[sends]
        within, node = costs.placement.same_node(src, dst), costs.placement.node
        network[sends] = taken(networks, node[src], node[dst])
        of = network[sends]
        startups = np.array([one.startup for one in networks])[of]
        per_bytes = np.array([one.per_byte for one in networks])[of]
        startup[sends] = np.where(within, costs.local_startup, startups)
        transfer[sends] = table.amount[sends] * np.where(within, costs.local_per_byte, per_bytes)
    return network, (startup, transfer)
