"""Plays a score by SimGrid, which is one engine a process: run as a script, by `playing`.

It imports nothing of parcast. The score is JSON on standard input, what became of it JSON on
standard output.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import json
import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

#: SimGrid shares links max-min fairly, in every step anew, and does nothing else.
FAIR = (
    "network/model:CM02", "network/optim:Full", "cpu/optim:Full", "network/TCP-gamma:0",
    "network/weight-S:0", "network/latency-factor:1",
    "network/bandwidth-factor:1", "precision/work-amount:1e-12",
)  # fmt: skip

#: Bytes are whole in SimGrid: they are counted in such pieces, fewer where messages are long.
PIECES = 2.0**40


def load() -> Any:
    """Return SimGrid, whose library may lie beside its module, where no loader looks for it."""
    spec = importlib.util.find_spec("simgrid")
    if spec is None or spec.origin is None:
        raise ImportError("simgrid is not installed")
    for library in sorted(Path(spec.origin).parent.glob("libsimgrid.so.*")):
        with suppress(OSError):
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    import simgrid

    return simgrid


def settled(
    begin: float, awaited: list[tuple[float, float, float]], pays: str
) -> Iterator[tuple[str, float, float]]:
    """Yield the parts of a wait, each with its beginning and end.

    Parameters
    ----------
    begin
        When it begins.
    awaited
        When each message arrived and when it left, and what taking it costs.
    pays
        ``taking``: one message after another in the order of their arrivals; ``meanwhile``: while
        others are awaited; ``afterwards``: nothing here.
    """
    if pays == "taking":
        ordered = sorted(awaited)
    else:
        meanwhile = pays == "meanwhile"
        ends = [(arrival + cost * meanwhile, left, 0.0) for arrival, left, cost in awaited]
        last = max(ends)[0]
        same = last * (1 - 2.0**-33)
        ordered = [(last, min(left for end, left, _ in ends if end >= same), 0.0)]
    for arrival, left, cost in ordered:
        until = max(begin, arrival)
        leaves = min(max(begin, left), until)
        yield "synchronization", begin, leaves
        yield "communication", leaves, until
        yield "communication", until, until + cost
        begin = until + cost


class Message:
    """A message: when it left and arrived, once that is known."""

    def __init__(self, latency: float, size: float, route: int, early: bool) -> None:
        self.latency, self.size, self.route = latency, size, route
        self.missing = {"send"} if early else {"send", "post"}  #: before it leaves
        self.left = self.arrival = math.nan
        self.waiting: list[Any] = []  #: semaphores of those who wait for it


class Player:
    """Plays one score."""

    def __init__(self, simgrid: Any, score: dict[str, Any]) -> None:
        self.simgrid, self.score = simgrid, score
        own = (
            f"network/crosstraffic:{int(score['acknowledged'])}",
            f"precision/timing:{_precision(score)!r}",
        )
        config = [f"--cfg={key}" for key in (*FAIR, *own)]
        arguments = ["player", *config, "--log=root.thresh:critical"]
        self.engine = simgrid.Engine(arguments)
        self.messages = [Message(*fields) for fields in score["messages"]]
        largest = max((message.size for message in self.messages), default=1.0)
        self.pieces = min(PIECES, 2.0 ** (61 - math.frexp(largest)[1]))
        zone = self.engine.netzone_root.add_netzone_full("machine")
        self.host = zone.add_host("processes", 1e9)
        self.ends = self.routed(zone)
        zone.seal()
        self.finished: list[float] = [0.0] * len(score["steps"])
        self.spent: list[list[tuple[str, float, float]]] = [[] for _ in score["steps"]]
        self.starts: list[float] = [0.0] * len(score["steps"])

    def routed(self, zone: Any) -> list[tuple[Any, Any]]:
        """Return two hosts for each route, which is between them alone; hosts mean nothing else."""
        score = self.score
        count = math.isqrt(2 * len(score["routes"])) + 2  # C(count, 2) is as many and more
        links = [
            self.link(zone, f"link{index}", capacity, shared)
            for index, (capacity, shared) in enumerate(
                zip(score["capacity"], score["shared"], strict=True)
            )
        ]
        hosts = [zone.add_host(f"end{index}", 1e9) for index in range(count)]
        endless = self.link(zone, "endless", math.inf, shared=False)
        ends = list(itertools.islice(itertools.combinations(hosts, 2), len(score["routes"])))
        for number, (fastest, there, back) in enumerate(score["routes"]):
            cap = self.link(zone, f"cap{number}", fastest, shared=False)
            for pair, first, way in (
                (ends[number], cap, there),
                (ends[number][::-1], endless, back),
            ):
                along = [
                    self.simgrid.LinkInRoute(link) for link in (first, *(links[i] for i in way))
                ]
                zone.add_route(*pair, along, False)
        return ends

    def link(self, zone: Any, name: str, capacity: float, shared: bool) -> Any:
        """Return a new link; one that is not shared gives each message all of its capacity."""
        policy = self.simgrid.Link.SharingPolicy
        link = zone.add_link(name, min(capacity, 1e30) * self.pieces)
        if not (shared and capacity < math.inf):
            link.set_sharing_policy(policy.FATPIPE, None)
        link.seal()
        return link

    def play(self) -> dict[str, Any]:
        """Return when every process ends, and what it spends its time on."""
        for rank, steps in enumerate(self.score["steps"]):
            self.host.add_actor(f"process{rank}", self.process, rank, steps)
        self.engine.run()
        return {"ends": self.finished, "starts": self.starts, "spent": self.spent}

    def process(self, rank: int, steps: list[Any]) -> None:
        """Do what a process does, in its order."""
        bell = self.simgrid.Semaphore(0)
        for word, *arguments in steps:
            if word == "spend":
                self.spend(rank, *arguments)
            elif word == "wait":
                self.wait(rank, bell, *arguments)
            elif word == "start":
                self.starts[rank] = self.engine.clock
            else:
                self.ready(self.messages[arguments[0]], word)
        self.finished[rank] = self.engine.clock

    def spend(self, rank: int, part: str, seconds: float) -> None:
        """Spend seconds on a part."""
        begin = self.engine.clock
        self.sleep(seconds)
        self.spent[rank].append((part, begin, self.engine.clock))

    def sleep(self, seconds: float) -> None:
        """Do nothing for a time."""
        if seconds > 0:
            self.simgrid.this_actor.sleep_for(seconds)

    def ready(self, message: Message, word: str) -> None:
        """Let a message leave, once all that it waits for is there."""
        if message.missing:
            message.missing.discard(word)
            if not message.missing:
                message.left = self.engine.clock
                self.host.add_actor("message", self.fly, message)

    def fly(self, message: Message) -> None:
        """Take a message from where it leaves to where it arrives."""
        self.sleep(message.latency)
        if message.route >= 0:
            comm = self.simgrid.Comm.sendto_init(*self.ends[message.route])
            comm.set_payload_size(round(message.size * self.pieces))
            comm.wait()
        message.arrival = self.engine.clock
        for bell in message.waiting:
            bell.release()

    def wait(self, rank: int, bell: Any, awaited: list[Any], pays: str) -> None:
        """Wait until all messages have arrived and are taken."""
        begin = self.engine.clock
        pairs = [(self.messages[number], cost) for number, cost in awaited]
        still = [message for message, _ in pairs if math.isnan(message.arrival)]
        for message in still:
            message.waiting.append(bell)
        for _ in still:
            bell.acquire()
        ends = [(message.arrival, message.left, cost) for message, cost in pairs]
        parts = list(settled(begin, ends, pays))
        self.spent[rank] += parts
        self.sleep(parts[-1][2] - self.engine.clock)


def _precision(score: dict[str, Any]) -> float:
    """Return the seconds that are nothing: far less than the shortest time of a score."""
    times = [
        arguments[1] for steps in score["steps"] for word, *arguments in steps if word == "spend"
    ]
    times += [latency for latency, *_ in score["messages"]]
    fastest = [rate for rate, *_ in score["routes"]]
    times += [size / fastest[route] for _, size, route, _ in score["messages"] if route >= 0]
    shortest: float = min((time for time in times if time > 0), default=1.0)
    return min(1e-9, 1e-10 * shortest)


def main() -> None:
    """Play the score of standard input."""
    try:
        simgrid = load()
    except ImportError as error:
        sys.exit(f"cannot be loaded: {error}")
    json.dump(Player(simgrid, json.load(sys.stdin)).play(), sys.stdout)


if __name__ == "__main__":
    main()
