"""What SimGrid plays: the operations of each process as steps, and the messages between them.

A score is plain numbers and words, so that it can be written as JSON for another process.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import attrs
import numpy as np

from parcast import UnsupportedError
from parcast.model import Costs
from parcast.program import ANY, Unrolled
from parcast.program.reference import frozen

#: A word and what it needs: ``spend`` a part and seconds; ``send`` and ``post`` the number of a
#: message that is ready, or whose receive is posted; ``wait`` pairs of a message and the seconds
#: that taking it costs, and how these are paid; ``start`` nothing.
Step = tuple[Any, ...]

#: Latency, bytes, the number of a route, and whether it leaves before its receive is posted.
Sent = tuple[float, float, int, bool]

#: Bytes a second that a message flows at most, the links that it passes, and those of the way back
#: where messages are acknowledged.
Route = tuple[float, list[int], list[int]]

#: Of each byte, as much SimGrid has on the way back (``network/crosstraffic``).
CROSS_TRAFFIC = 0.05


@attrs.frozen(kw_only=True)
class Score:
    """What SimGrid plays.

    A message is its latency, its bytes, the number of its route, and whether it leaves before its
    receive is posted. One without a route (-1) is as long on its way as its latency says.
    """

    steps: list[list[Step]]  #: of each process
    messages: list[Sent]
    routes: list[Route]
    capacity: list[float]  #: of each link
    shared: list[bool]
    acknowledged: bool  #: messages take up links of the way back


def score(unrolled: Unrolled, costs: Costs) -> Score:
    """Return a program as SimGrid plays it.

    Parameters
    ----------
    unrolled
        Its operations, collectives expanded into messages.
    costs
        What the machine charges.

    Raises
    ------
    UnsupportedError
        If its times depend on who comes first.
    """
    check_contention(costs)
    if any(pool.master is None for pool in unrolled.pools):
        raise UnsupportedError(
            "tasks of a pool go to whichever process is free, which simgrid.flows does not play; "
            "name a master"
        )
    if unrolled.pools:  # whom the master answers is as the plain run has it
        unrolled = frozen(unrolled, costs, timed=()).unrolled
    writer = _Writer(unrolled, costs)
    steps = [writer.process(rank) for rank in range(unrolled.size)]
    messages, routes = writer.messages_and_routes()
    wiring = costs.wiring() if costs.contention == "fair" else None
    return Score(
        steps=steps,
        messages=messages,
        routes=routes,
        capacity=[] if wiring is None else wiring.capacity.tolist(),
        shared=[] if wiring is None else wiring.shared.tolist(),
        acknowledged=bool(costs.acknowledgements),
    )


def check_contention(costs: Costs) -> None:
    """Refuse messages that are served one after another, or acknowledged otherwise than here.

    Raises
    ------
    UnsupportedError
        Naming the key.
    """
    if costs.contention in ("endpoint", "bus"):
        raise UnsupportedError(
            f"network.contention = {costs.contention!r} serves messages one after another, which "
            "SimGrid does not; state 'fair' or 'none'"
        )
    if costs.weight_bytes is not None:
        raise UnsupportedError(
            "network.weight_bytes shares links by their latencies, which simgrid.flows keeps apart "
            "from SimGrid's links; leave it out"
        )
    if costs.acknowledgements not in (0.0, CROSS_TRAFFIC):
        raise UnsupportedError(
            f"network.acknowledgements = {float(costs.acknowledgements):g}, and SimGrid has "
            f"{CROSS_TRAFFIC:g} or none; state one of these"
        )


class _Writer:
    def __init__(self, unrolled: Unrolled, costs: Costs) -> None:
        self._unrolled = unrolled
        self._costs = costs
        self._operations = unrolled.by_rank()
        self._call = float(costs.overhead_receive) if costs.overhead_by == "call" else 0.0
        self._number: dict[tuple[int, int, int, int], int] = {}  # of source, target, tag and place
        self._sizes: dict[int, float] = {}  # bytes of messages by their numbers
        self._counts: defaultdict[tuple[str, int, int, int], int] = defaultdict(int)
        self._number_sends()

    def _number_sends(self) -> None:
        for rank, operations in enumerate(self._operations):
            places: defaultdict[tuple[int, int], int] = defaultdict(int)
            for operation in operations:
                if operation.op in ("send", "isend", "sendrecv"):
                    target, tag = operation.arguments["dst"], operation.arguments["tag"]
                    number = len(self._number)
                    self._number[rank, target, tag, places[target, tag]] = number
                    self._sizes[number] = operation.arguments["bytes"]
                    places[target, tag] += 1

    def process(self, rank: int) -> list[Step]:
        """Return the steps of a process."""
        steps: list[Step] = []
        requests: dict[int, tuple[int, float] | None] = {}  # a message and what taking it costs
        for place, operation in enumerate(self._operations[rank]):
            steps += self._steps(rank, place, operation, requests)
        return steps

    def _steps(
        self, rank: int, place: int, operation: Any, requests: dict[int, tuple[int, float] | None]
    ) -> list[Step]:
        arguments, costs = operation.arguments, self._costs
        match operation.op:
            case "compute":
                seconds = costs.compute(rank, arguments["flops"], arguments["bytes"])
                return [("spend", "compute", float(seconds))]
            case "elapse":
                seconds = costs.elapse(rank, arguments["seconds"])
                return [("spend", "compute", float(seconds))]
            case "send":
                message, steps = self._send(rank, arguments)
                return [*steps, *self._waits(self._own(message), "afterwards")]
            case "isend":
                message, steps = self._send(rank, arguments)
                requests[place] = next(iter(self._own(message)), None)
                return steps
            case "recv":
                received = self._received(rank, arguments, operation)
                return [("post", received[0]), *self._waits([received], "taking")]
            case "irecv":
                requests[place] = received = self._received(rank, arguments, operation)
                return [("post", received[0]), *self._pays(self._call)]
            case "wait" | "waitall":
                awaited = [requests[request] for request in operation.requests]
                pays = "afterwards" if costs.overhead_by == "call" else "taking"
                waits = self._waits([pair for pair in awaited if pair is not None], pays)
                return [*waits, *self._pays(self._call)]
            case "sendrecv":
                message, steps = self._send(rank, arguments)
                received = self._received(rank, arguments, operation)
                awaited_ = [*self._own(message), received]
                return [*steps, ("post", received[0]), *self._waits(awaited_, "meanwhile")]
            case "read" | "write":
                return [("spend", "io", self._access(operation))]
            case "start":
                return [("start",)]
        return []  # a region

    def _pays(self, seconds: float) -> list[Step]:
        return [("spend", "communication", seconds)] if seconds else []

    def _waits(self, awaited: list[tuple[int, float]], pays: str) -> list[Step]:
        return [("wait", awaited, pays)] if awaited else []

    def _send(self, rank: int, arguments: Any) -> tuple[int, list[Step]]:
        message = self._next("send", rank, arguments["dst"], arguments["tag"])
        busy = float(self._costs.sending(arguments["bytes"]))
        return message, [*self._pays(busy), ("send", message)]

    def _own(self, message: int) -> list[tuple[int, float]]:
        """Return what a sender waits for: a message over the eager limit."""
        return [] if self._sizes[message] <= self._costs.eager_limit else [(message, 0.0)]

    def _received(self, rank: int, arguments: Any, operation: Any) -> tuple[int, float]:
        if arguments["src"] == ANY:
            raise UnsupportedError(
                f"{self._unrolled.line(operation.site)}: recv(ANY) takes what comes first, which "
                "simgrid.flows does not play; name the source"
            )
        message = self._next("receive", arguments["src"], rank, arguments["tag"])
        return message, float(self._costs.receiving(self._sizes[message]))

    def _next(self, side: str, source: int, target: int, tag: int) -> int:
        place = self._counts[side, source, target, tag]
        self._counts[side, source, target, tag] += 1
        return self._number[source, target, tag, place]

    def _access(self, operation: Any) -> float:
        file = operation.arguments["file"]
        if self._costs.striped(file) or self._costs.disks < self._unrolled.size:
            raise UnsupportedError(
                f"{self._unrolled.line(operation.site)}: processes share disks, which "
                "simgrid.flows does not play; give each its own with storage.layout = 'cluster'"
            )
        return float(self._costs.piece(operation.arguments["bytes"], file))

    def messages_and_routes(self) -> tuple[list[Sent], list[Route]]:
        """Return all messages, and the routes that they take."""
        costs, ends = self._costs, np.array([*self._number], np.int64).reshape(-1, 4)
        sources, targets, size = ends[:, 0], ends[:, 1], np.array([*self._sizes.values()], float)
        if not len(size):
            return [], []
        latency, alone, wire = (
            np.broadcast_to(seconds(sources, targets, size), size.shape).astype(float)
            for seconds in (costs.latency, costs.transfer, costs.on_wire)
        )
        flowing = alone > 0
        if costs.contention == "fair":
            links, weights = costs.wiring().loads(sources, targets)
            flowing &= (links >= 0).any(axis=1)
        else:
            links, weights = np.zeros((len(size), 0), np.int32), np.ones(0)
            flowing &= False
        latency = np.where(flowing, latency, latency + alone)
        numbers: dict[tuple[float, ...], int] = {}
        messages: list[Sent] = []
        early = (size <= costs.eager_limit) & (costs.eager == "buffered")
        for index in range(len(size)):
            route = -1
            if flowing[index]:
                # of messages of all sizes, whose rates differ by rounding, one route
                key = (float(f"{wire[index] / alone[index]:.13g}"), *links[index].tolist())
                route = numbers.setdefault(key, len(numbers))
            messages.append((float(latency[index]), float(wire[index]), route, bool(early[index])))
        hops = int((weights == 1).sum())  # the columns behind these are of the way back
        routes = [
            (float(fastest), _passed(row[:hops]), _passed(row[hops:])) for fastest, *row in numbers
        ]
        return messages, routes


def _passed(row: list[float]) -> list[int]:
    return [int(link) for link in row if link >= 0]
