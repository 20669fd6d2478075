"""A program's operations as a net: what each one costs is ``docs/program.md``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import NOTHING, OPS, TIMING, matched_program
from parcast.program.reference import SAME_INSTANT
from parcast_petri.nets.net import Net
from parcast_petri.options import Options
from parcast_petri.programs.accounting import Inbox, Records
from parcast_petri.programs.background_net import BackgroundNet, build_background
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.crossings import Crossings, pool_of
from parcast_petri.programs.dealing import Dealing
from parcast_petri.programs.local_operations import Computations, Computing, LocalOperations
from parcast_petri.programs.masters import dealt, has_master, refuse_sending_tasks
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.networks import NO_NETWORK, Wires, networks_of
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.pools import Pools
from parcast_petri.programs.process import Process
from parcast_petri.programs.rates import Rates
from parcast_petri.programs.traffic import with_other_traffic
from parcast_petri.programs.transfers import Message, Transfers
from parcast_petri.programs.wildcards import Wildcards, meeting_place

#: The place that every process ends in.
END = "end"


def joined_ends(net: Net) -> frozenset[str]:
    """Return the end of a program's net, which waits for all processes; nothing of other nets.

    In those too a place may have this name, and whatever comes first may end them.
    """
    feeding = [transition.name for transition in net.transitions if END in transition.post]
    of_processes = all(name.removeprefix(f"{END} ").isdigit() for name in feeding)
    return frozenset({END}) if of_processes else frozenset()


@attrs.frozen(eq=False)
class ProgramNet:
    """The net of a program, and which of its moments say what."""

    net: Net
    records: Records
    computing: tuple[Computing, ...]
    background: BackgroundNet  #: jobs and messages of others
    dealt: bool = False  #: whom masters of pools answer when is fixed
    #: where tasks are dealt, by the number of their pool: the moments of questions, and who asks
    asked: Mapping[int, Sequence[tuple[int, int]]] = attrs.field(factory=dict)


def program_net(
    query: Query, options: Options, nodes: Nodes | None = None, dealing: Dealing | None = None
) -> ProgramNet:
    """Return the net of a query's program.

    Parameters
    ----------
    query
        A ``program`` on a machine.
    options
        How messages and memory traffic are shared.
    nodes
        What loaded nodes do to computations; None: nothing.
    dealing
        Who takes which task of pools; None: the net decides it.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number, or the net has no way to say what the program does.
    """
    return _Lowering(query, options, nodes or Nodes(), dealing).program_net()


class _Lowering:
    def __init__(
        self, query: Query, options: Options, nodes: Nodes, dealing: Dealing | None
    ) -> None:
        program = matched_program(query, pools=True)
        self.dealt, self.chosen = has_master(program), frozenset[int]()
        if self.dealt:
            program, self.chosen = dealt(query, program, nodes)
        refuse_sending_tasks(program)
        self.query, self.nodes, self.options = query, nodes, options.on(query.machine)
        self.table, self.matching = program.columns, program.matching
        self.costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
        self.node = self.costs.placement.node.tolist()
        self.builder, self.records, self.wildcards = NetBuilder(), Records(), Wildcards()
        self.by_message = self.costs.overhead_by == "message"
        self.call = 0.0 if self.by_message else float(self.costs.overhead_receive)
        networks = networks_of(query, self.costs)
        fair = self.costs.contention == "fair" and self.options.sharing == "max_min"
        self.crossings = Crossings.of(self.table, self.costs, networks, fair=fair, dealing=dealing)
        self._note_lists()
        self.requests: dict[int, list[int]] = defaultdict(list)
        pairs = zip(self.table.wait_op.tolist(), self.table.wait_request.tolist(), strict=True)
        for wait, request in pairs:
            self.requests[wait].append(request)
        self.rates = with_other_traffic(
            query, self.options, self._rates(networks), explicit=nodes.explicit
        )
        self.transfers = Transfers(self.builder, self.options, self.rates)
        self.computations = Computations(self.builder, nodes)
        sharing = self.costs.placement.sharing.tolist()
        cores = query.machine.nodes.cores
        self.local = LocalOperations(
            self.costs, self.options, self.computations, self.node, sharing, cores
        )
        self.pools = Pools(
            self.costs, networks, self.crossings, self.transfers, self.local, dealing
        )

    def _note_lists(self) -> None:
        """Note the columns as lists, which are faster to look up one by one than arrays."""
        table, counts = self.table, np.diff(self.table.offsets)
        ranks = np.repeat(np.arange(len(counts)), counts)
        self.charges = Charges.of(table, self.costs, ranks)
        self.offsets = table.offsets.tolist()
        positions = (np.arange(len(ranks)) - table.offsets[ranks]).tolist()
        self.names = [
            f"{rank}.{position}" for rank, position in zip(ranks.tolist(), positions, strict=True)
        ]
        self.words = [OPS[code] for code in table.op.tolist()]
        self.site = table.site.tolist()
        self.dst, self.tag = table.dst.tolist(), table.tag.tolist()
        late = table.amount > self.costs.eager_limit
        self.late = late.tolist()
        self.meets = (late | (self.costs.eager == "waits")).tolist()
        receiving = self.costs.receiving(table.amount)
        self.receiving = np.broadcast_to(np.asarray(receiving, float), len(late)).tolist()
        self.sent_to = self.matching.sent_to.tolist()
        self.received_from = self.matching.received_from.tolist()
        self.index, self.shared = self.crossings.index, self.crossings.shared
        routes = self.crossings.routes
        self.network, self.startup, self.transfer = routes.network, routes.startup, routes.transfer
        for id_ in np.flatnonzero(self.matching.sent_to == TIMING).tolist():
            self.wildcards.expect(self._inbox(id_), self.receiving[id_])

    def _rates(self, networks: Sequence[Wires]) -> list[Rates]:
        """Return the links of each network between the nodes that send on it."""
        node, network = self.costs.placement.node, np.array(self.network, np.int64)
        src, dst = node[self.crossings.src], node[self.crossings.dst]
        rates = []
        for wires in networks:
            selected = (network == wires.number) & (src != dst)
            pairs = frozenset(zip(src[selected].tolist(), dst[selected].tolist(), strict=True))
            waiting = self.options.servers == "single"
            fair = self.options.sharing == "max_min" and wires.contention in ("endpoint", "bus")
            rates.append(Rates(wires, pairs, waiting=waiting, fair=fair))
        return rates

    def program_net(self) -> ProgramNet:
        offsets = self.offsets
        for rank in range(self.query.p):
            process = Process(self.builder, self.records, rank, f"start {rank}")
            self.builder.give(process.moment, process.at)
            for id_ in range(offsets[rank], offsets[rank + 1]):
                self._operation(process, id_)
            self.builder.transition(f"end {rank}", {process.at: 1}, {END: 1})
            self.records.ends.append(process.moment)
        self.wildcards.build(self.builder, self.records)
        background = build_background(
            self.builder, self.query, self.nodes, self.rates[0],
            {computation.node for computation in self.computations.built},
        )  # fmt: skip
        for rates in self.rates:
            self.builder.links += rates.net_links()
        self.builder.links += self.crossings.links
        net = self.builder.net(self.query.workload.name, SAME_INSTANT)
        computing = tuple(self.computations.built)
        return ProgramNet(net, self.records, computing, background, self.dealt, self.pools.asked)

    def _operation(self, process: Process, id_: int) -> None:
        match self.words[id_]:
            case "compute" | "elapse" as word:
                self.local.work(process, self.charges, id_, word, self.names[id_])
            case "send" | "isend" as word:
                self._send(process, id_, word)
            case "recv":
                self._receive(process, id_)
            case "irecv":
                self._post(process, id_)
                if self.call:
                    process.busy("irecv", self.names[id_], self.call)
            case "wait" | "waitall":
                self._wait(process, id_)
            case "sendrecv":
                self._exchange(process, id_)
            case "read" | "write" as word:
                self.local.access(process, self.charges, id_, word, self.names[id_])
            case "pool":
                self._tasks(process, id_)
            case "start":
                self.records.starts.append(process.moment)

    def _tasks(self, process: Process, id_: int) -> None:
        number, pool = pool_of(self.table, id_)
        self.pools.build(process, number, pool, self.names[id_], self.index[id_])

    def _leave(self, process: Process, id_: int, word: str) -> None:
        """Build the sender's own time, and the message's way from there."""
        name, seconds = self.names[id_], self.charges.seconds[id_]
        ready = f"ready {name}"
        if seconds:
            process.busy(word, name, seconds, post=[ready])
        else:
            self.builder.give(process.moment, ready)
        timing, meets = self.sent_to[id_] == TIMING, self.meets[id_]
        self.records.flight[id_] = since = process.moment
        origin = {ready: 1}
        if meets:
            origin = {meeting_place(name): 1}
            together = {ready: 1, f"posted {name}": 1}
            if id_ in self.chosen:
                self.wildcards.choose(self._inbox(id_), id_, name, together, origin, leaves=True)
            elif not timing:
                self.records.flight[id_] = self.builder.transition(f"meet {name}", together, origin)
        arrived = {self._arrived(id_): 1}
        if not meets and id_ in self.chosen:
            together = {f"there {name}": 1, f"posted {name}": 1}
            self.wildcards.choose(self._inbox(id_), id_, name, together, arrived, leaves=False)
        if not meets and (timing or id_ in self.chosen):
            arrived = {f"there {name}": 1}
        if self._waits(id_, word):
            arrived[f"sent {name}"] = 1
        self.records.arrival[id_] = self._carry(process.rank, id_, name, origin, arrived)
        if timing:
            available = ready if meets else f"there {name}"
            since = since if meets else self.records.arrival[id_]
            taken = meeting_place(name) if meets else self._arrived(id_)
            self.wildcards.offer(self._inbox(id_), id_, name, available, since, taken, leaves=meets)

    def _carry(
        self, rank: int, id_: int, name: str, ready: dict[str, int], arrived: dict[str, int]
    ) -> int:
        """Build a message's way; return the moment of its arrival."""
        src, dst, index = self.node[rank], self.node[self.dst[id_]], self.index[id_]
        network = self.network[index]
        message = Message(
            name=name,
            statement=f"{rank}.{self.site[id_]}",
            ready=ready,
            arrived=arrived,
            src=src,
            dst=dst,
            startup=self.startup[index],
            transfer=self.transfer[index],
            network=None if src == dst or network == NO_NETWORK else network,
            shared=self.shared[index],
        )
        return self.transfers.build(message)

    def _waits(self, id_: int, word: str) -> bool:
        """Tell whether a sender, or the wait for its request, awaits the arrival."""
        return self.late[id_] or (self.options.sends == "blocking" and word != "isend")

    def _inbox(self, send: int) -> Inbox:
        return self.dst[send], self.tag[send]

    def _arrived(self, send: int) -> str:
        if self.sent_to[send] == TIMING:
            return self.wildcards.place(self._inbox(send), self.receiving[send])
        return f"arrived {self.names[send]}"

    def _send(self, process: Process, id_: int, word: str) -> None:
        self._leave(process, id_, word)
        if word == "send" and self._waits(id_, word):
            since = process.moment
            process.step("sent", self.names[id_], [f"sent {self.names[id_]}"])
            self.records.wait(process.rank, since, [(None, id_)], None)

    def _post(self, process: Process, id_: int) -> None:
        """Build the posting of a receive, where its message waits for it."""
        send = self.received_from[id_]
        if send >= 0 and (self.meets[send] or send in self.chosen):
            process.step("post", self.names[id_], post=[f"posted {self.names[send]}"])

    def _receive(self, process: Process, id_: int) -> None:
        send, name = self.received_from[id_], self.names[id_]
        if send == TIMING:
            self.wildcards.receive(process, self.tag[id_], name)
            return
        self._post(process, id_)
        since = process.moment
        process.step("recv", name, [self._arrived(send)], **timed(self.receiving[send]))
        self.records.wait(process.rank, since, [(None, send)], process.moment)

    def _wait(self, process: Process, id_: int) -> None:
        since, received, sent = process.moment, [], []
        for request in self.requests[id_]:
            send = self.received_from[request]
            if send != NOTHING:
                self._refuse_timing(request, "an irecv(ANY)")
                received.append(send)
            elif self.late[request]:
                sent.append(request)
        places = [f"sent {self.names[request]}" for request in sent]
        if self.by_message and len(received) + len(sent) > 1:
            places = [*self._take(process, id_, received), *places]
            process.step("wait", self.names[id_], places)
            takings = [(send, self.receiving[send]) for send in received]
            self.records.takings(process.rank, since, [*takings, *((one, 0.0) for one in sent)])
            return
        overhead = self.receiving[received[0]] if self.by_message and received else self.call
        places = [*map(self._arrived, received), *places]
        process.step("wait", self.names[id_], places, **timed(overhead))
        awaited = [(None, send) for send in (*received, *sent)]
        self.records.wait(process.rank, since, awaited, process.moment)

    def _take(self, process: Process, id_: int, received: Sequence[int]) -> Iterator[str]:
        """Build that a wait takes one message after another; yield the places of what it took.

        Whichever of those that are there it takes first, it has taken all of them as soon.
        """
        for send in received:
            name, arrived = f"{self.names[send]} in {self.names[id_]}", self._arrived(send)
            if not self.receiving[send]:
                yield arrived
                continue
            taking, taken = f"taking {name}", f"taken {name}"
            self.builder.transition(f"take {name}", {process.at: 1, arrived: 1}, {taking: 1})
            self.builder.transition(
                f"took {name}", {taking: 1}, {process.at: 1, taken: 1},
                delay=self.receiving[send],
            )  # fmt: skip
            yield taken

    def _refuse_timing(self, receive: int, operation: str) -> None:
        if self.received_from[receive] == TIMING:
            raise UnsupportedError(
                f"{self.table.line(receive)}: {operation} is matched by timing, which petri takes "
                "from recv(ANY) only"
            )

    def _exchange(self, process: Process, id_: int) -> None:
        send, name = self.received_from[id_], self.names[id_]
        self._refuse_timing(id_, "a sendrecv from ANY")
        self._leave(process, id_, "sendrecv")
        self._post(process, id_)
        since = process.moment
        received = f"received {name}"
        moment = self.builder.transition(
            f"receive {name}",
            {self._arrived(send): 1},
            {received: 1},
            **timed(self.receiving[send]),
        )
        sent = [f"sent {name}"] if self._waits(id_, "sendrecv") else []
        process.step("exchanged", name, [received, *sent])
        awaited = [(moment, send), *([(None, id_)] if sent else [])]
        self.records.wait(process.rank, since, awaited, None)
