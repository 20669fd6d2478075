"""The discipline in plain Python: an event list, a queue a server, nothing shared with engines.

It follows the specification word by word: every server keeps its requests, and when it is
free takes the one that came first; of those that came at one time the lowest port, and of one
port the one issued first. So that all that come at one time are there, servers look for the next
in the order in which a block passes them: where there is no latency, a header that is sent comes
at the same time.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from itertools import count
from typing import Any

#: The servers in the order in which a block passes them, after what ends at one time.
STAGES = {"disk": 1, "bus": 2, "port out": 3, "port both": 3, "port in": 4, "cpu": 5}


class Server:
    """One first-come-first-served server; ``serve(item, now)`` returns when it is done."""

    def __init__(self, simulation: Simulation, stage: int, serve: Any) -> None:
        self.simulation, self.stage, self.serve = simulation, stage, serve
        self.waiting: list[Any] = []
        self.busy = False

    def request(self, port: tuple[int, ...], item: Any, done: Any) -> None:
        arrived = (self.simulation.now, port, next(self.simulation.counter))
        heapq.heappush(self.waiting, (*arrived, item, done))
        self.simulation.at(self.simulation.now, self.look, self.stage)

    def look(self) -> None:
        if self.busy or not self.waiting:
            return
        *_, item, done = heapq.heappop(self.waiting)
        self.busy = True
        end = self.serve(item, self.simulation.now)

        def ended() -> None:
            self.busy = False
            done(item)
            self.simulation.at(self.simulation.now, self.look, self.stage)

        self.simulation.at(end, ended)


class Disk:
    def __init__(self, machine: dict[str, float]) -> None:
        self.machine, self.idle_since, self.head = machine, 0.0, 0.0

    def serve(self, offset: float, size: float, start: float) -> float:
        m = self.machine
        seek = 0.0 if offset == self.head else m["seek0"] + m["seek1"] * abs(offset - self.head)
        positioned = start + m["overhead"] + seek
        rotation = 0.0
        if m["trev"] > 0:
            turned = (self.head / m["track"]) % 1.0 + (positioned - self.idle_since) / m["trev"]
            w = ((offset / m["track"]) % 1.0 - turned % 1.0) % 1.0
            rotation = 0.0 if w > 1 - 1e-9 else w * m["trev"]
        self.idle_since = positioned + rotation + size / m["media"]
        self.head = offset + size
        return self.idle_since


class Simulation:
    """One run; ``ops`` has the times of every block, as the reference cases give them."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.machine, self.nodes = spec["machine"], spec["nodes"]
        self.own = spec.get("epochs_of") == "node"
        self.buffers = spec.get("buffers", 2**60)
        self.epochs = spec["epochs"]
        self.now, self.counter = 0.0, count()
        self.events: list[Any] = []
        self.disks: dict[Any, Disk] = defaultdict(lambda: Disk(self.machine))
        self.servers: dict[Any, Server] = {}
        self.ops: list[dict[str, Any]] = []
        self.ends = [0.0] * len(self.epochs)
        self.pending: dict[Any, int] = defaultdict(int)
        self.epoch_of: dict[int, int] = defaultdict(int)
        self.unread: dict[int, list[Any]] = defaultdict(list)
        self.held: dict[int, int] = defaultdict(int)
        self.prepare()

    def at(self, time: float, do: Any, stage: int = 0) -> None:
        heapq.heappush(self.events, (time, stage, next(self.counter), do))

    def run(self) -> Simulation:
        for node in range(len(self.nodes)):
            self.advance(node)
            self.issue(node)
        while self.events:
            self.now, _, _, do = heapq.heappop(self.events)
            do()
        return self

    # who belongs to which epoch

    def group(self, node: int) -> int:
        return node if self.own else 0

    def prepare(self) -> None:
        for epoch, blocks in enumerate(self.epochs):
            for block in blocks:
                op = {**block, "epoch": epoch, "sends": [], "computes": [], "left": 0}
                self.ops.append(op)
                self.unread[block["node"]].append(op)
                self.pending[self.group(block["node"]), epoch] += 1
                for target in block["consumers"]:
                    self.pending[self.group(target), epoch] += 1
                    if target != block["node"]:
                        self.pending[self.group(block["node"]), epoch] += 1

    def advance(self, node: int) -> bool:
        group, moved = self.group(node), False
        while (
            self.epoch_of[group] < len(self.epochs)
            and not self.pending[group, self.epoch_of[group]]
        ):
            epoch = self.epoch_of[group]
            self.ends[epoch] = max(self.ends[epoch], self.now)
            self.epoch_of[group] += 1
            moved = True
        return moved

    def done(self, node: int, epoch: int) -> None:
        self.pending[self.group(node), epoch] -= 1
        if self.advance(node):
            for other in range(len(self.nodes)):
                if self.group(other) == self.group(node):
                    self.issue(other)

    # what happens to a block

    def server(self, kind: str, *key: int, serve: Any) -> Server:
        return self.servers.setdefault((kind, *key), Server(self, STAGES[kind], serve))

    def issue(self, node: int) -> None:
        while (
            self.unread[node]
            and self.held[node] < self.buffers
            and self.unread[node][0]["epoch"] <= self.epoch_of[self.group(node)]
        ):
            op = self.unread[node].pop(0)
            self.held[node] += 1
            key = (node, op["disk"])

            def serve(op: Any, now: float, key: Any = key) -> float:
                op["disk_start"] = now
                op["disk_end"] = self.disks[key].serve(op["offset"], op["size"], now)
                return op["disk_end"]

            self.server("disk", *key, serve=serve).request((0,), op, self.read)

    def read(self, op: Any) -> None:
        bus = self.nodes[op["node"]]["busof"][op["disk"]]

        def serve(op: Any, now: float) -> float:
            op["bus_start"] = now
            service = self.machine["bus_alpha"] + op["size"] / self.machine["bus_bw"]
            op["bus_end"] = now + service
            return op["bus_end"]

        server = self.server("bus", op["node"], bus, serve=serve)
        server.request((op["disk"],), op, lambda op: self.carried(op, bus))

    def carried(self, op: Any, bus: int) -> None:
        node = op["node"]
        op["left"] = len(op["consumers"])
        for target in op["consumers"]:
            if target == node:
                self.to_compute(op, node, (0, bus))
            else:
                send = {"dst": target, "op": op}
                op["sends"].append(send)
                self.port("out", node).request((0, bus), send, self.sent)
        if not op["consumers"]:
            self.let_go(op)
        self.done(node, op["epoch"])

    def port(self, way: str, node: int) -> Server:
        if self.machine.get("duplex") == "half":
            way = "both"
        return self.server(f"port {way}", node, serve=self.pass_port)

    def pass_port(self, send: Any, now: float) -> float:
        holding = send["op"]["size"] / self.machine["beta"]
        if "out_start" not in send:
            send["out_start"], send["out_end"] = now, now + holding
            node = send["op"]["node"]
            self.at(now + self.machine["alpha"], lambda: self.header(send, node))
        else:
            send["in_start"], send["in_end"] = now, now + holding
        return now + holding

    def sent(self, send: Any) -> None:
        self.release(send["op"])
        self.done(send["op"]["node"], send["op"]["epoch"])

    def header(self, send: Any, sender: int) -> None:
        self.port("in", send["dst"]).request((1, sender), send, self.received)

    def received(self, send: Any) -> None:
        self.to_compute(send["op"], send["dst"], (1, send["op"]["node"]))

    def to_compute(self, op: Any, node: int, port: tuple[int, ...]) -> None:
        def serve(item: Any, now: float) -> float:
            op, node = item
            end = now + op["tcomp"]
            own = node == op["node"]
            times = {"cpu_start": now, "cpu_end": end}
            op["computes"].append({"node": node, "local": own, **times})
            return end

        self.server("cpu", node, serve=serve).request(port, (op, node), self.computed)

    def computed(self, item: Any) -> None:
        op, node = item
        if node == op["node"]:
            self.release(op)
        self.done(node, op["epoch"])

    def release(self, op: Any) -> None:
        op["left"] -= 1
        remote = sum(target != op["node"] for target in op["consumers"])
        own = len(op["consumers"]) - remote
        if op["left"] == len(op["consumers"]) - remote - own:
            self.let_go(op)

    def let_go(self, op: Any) -> None:
        self.held[op["node"]] -= 1
        self.issue(op["node"])
