"""Messages on shared links, step by step at the level of processes, without nets; exact."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


class Fluid:
    """One run: every process does its operations, and messages drain as their links allow.

    ``network(src, dst)`` says what a message takes: a dict of ``startup``, ``bandwidth``,
    ``contention``, ``half``, ``backbone`` and ``name``. Operations are ``("work", seconds)``,
    ``("send", dst, bytes, statement)`` and ``("recv", src)``.
    """

    def __init__(self, processes, network, sharing, **how):
        self.processes, self.network, self.sharing = processes, network, sharing
        self.inside, self.single = how.get("inside", False), how.get("single", False)
        self.blocking, self.others = how.get("blocking", False), how.get("others")
        self.now, self.at = Fraction(0), [0] * len(processes)
        self.busy = [None] * len(processes)  # until when a process works, or a message it awaits
        self.ends = [None] * len(processes)
        self.flights, self.sent, self.taken = [], defaultdict(list), defaultdict(int)
        self.queues = defaultdict(list)  # of a statement's one server
        self.foreign = []  # messages of others: their link and what is left
        self.links = sorted({link for m in self._every() for link, _ in self._links(m)})

    def _every(self):
        for src, operations in enumerate(self.processes):
            for op in operations:
                if op[0] == "send":
                    yield {"src": src, "dst": op[1], **self.network(src, op[1])}

    def _links(self, m):
        if m["contention"] == "bus":
            return [((m["name"], "bus"), Fraction(1))]
        ends = [("port", m["src"]), ("port", m["dst"])] if m["half"] else [
            ("out", m["src"]), ("into", m["dst"])]  # fmt: skip
        found = [((m["name"], *end), Fraction(1)) for end in ends]
        if m["backbone"] is not None:
            found.append(((m["name"], "backbone"), m["backbone"] / m["bandwidth"]))
        return found

    def run(self):
        while True:
            while self._advance():
                pass
            self._fix()
            if all(end is not None for end in self.ends):
                return self.ends
            self._pass_time()

    def _advance(self):
        """Let every process go on that can; tell whether any did."""
        moved = False
        for rank, operations in enumerate(self.processes):
            while self.ends[rank] is None and self._free(rank):
                if self.at[rank] == len(operations):
                    self.ends[rank] = self.now
                    break
                op = operations[self.at[rank]]
                if op[0] == "recv":
                    pair = op[1], rank  # the k-th receive takes the k-th message, as in MPI
                    sent, number = self.sent[pair], self.taken[pair]
                    if len(sent) <= number or sent[number]["phase"] != "done":
                        break
                    self.taken[pair] += 1
                elif op[0] == "work":
                    self.busy[rank] = self.now + op[1]
                else:
                    message = self._send(rank, *op[1:])
                    self.busy[rank] = message if self.blocking else None
                self.at[rank] += 1
                moved = True
        return moved

    def _free(self, rank):
        busy = self.busy[rank]
        return busy is None or (busy["phase"] == "done" if isinstance(busy, dict)
                                else busy <= self.now)  # fmt: skip

    def _send(self, src, dst, size, statement):
        network = self.network(src, dst)
        message = {"src": src, "dst": dst, "statement": (src, statement), **network,
                   "bytes": Fraction(size)}  # fmt: skip
        self.flights.append(message)
        self.sent[src, dst].append(message)
        drained = self.sharing in ("ps_all", "ps_transfer", "max_min")
        starts = drained and message["startup"] and not self.inside
        self._enter(message, "startup" if starts else "drain")
        return message

    def _enter(self, message, phase):
        message["phase"] = phase
        message["served"] = False
        queue = self.queues[message["statement"], phase]
        queue.append(message)
        if not self.single or queue[0] is message:
            self._serve(message)

    def _serve(self, message):
        message["served"] = True
        alone = message["bytes"] / message["bandwidth"]
        if message["phase"] == "startup":
            message["until"] = self.now + message["startup"]
        elif self.sharing == "none" or message["contention"] == "none":
            message["until"] = self.now + message["startup"] + alone
        elif self.sharing == "fixed_batch":
            message["until"] = None
        else:
            message["left"] = alone + (message["startup"] if self.inside else 0)
            message["until"] = None

    def _leave(self, message):
        queue = self.queues[message["statement"], message["phase"]]
        queue[:] = [one for one in queue if one is not message]
        if self.single and queue:
            self._serve(queue[0])
        if message["phase"] == "startup":
            self._enter(message, "drain")
            return
        message["phase"] = "done"
        self.flights = [one for one in self.flights if one is not message]

    def _fix(self):
        """Give messages that have just begun the time they take by the number there are now."""
        if self.sharing == "fixed_batch":
            for m in self.flights:
                if m["served"] and m["until"] is None:
                    count = sum(o["name"] == m["name"] for o in self.flights)
                    startup, alone = m["startup"], m["bytes"] / m["bandwidth"]
                    m["until"] = self.now + (
                        (startup + alone) * count if self.inside else startup + alone * count
                    )

    def _rates(self):
        """Return the speed of each message that drains, and of each of others."""
        flows = [m for m in self.flights if m["phase"] == "drain" and "left" in m and m["served"]]
        counted = [m for m in self.flights if "until" in m or not m["served"]]
        if self.sharing != "ps_all":
            counted = [m for m in self.flights if m["phase"] == "drain"]
        counted = [m for m in counted if m["contention"] != "none"]
        on = defaultdict(int)
        for m in counted:
            for link, _ in self._links(m):
                on[link] += 1
        for link, _ in self.foreign:
            on[link] += 1
        left = self._capacity
        if self.sharing == "max_min":
            return self._filled(flows)
        mine = [min(1, *(left(k, c) / on[k] for k, c in self._links(m))) for m in flows]
        return flows, mine, [min(1, left(k, Fraction(1)) / on[k]) for k, _ in self.foreign]

    def _filled(self, flows):
        """Raise all rates together, and stop those on a link that is full: max-min fair."""
        ways = [dict(self._links(m)) for m in flows] + [{k: Fraction(1)} for k, _ in self.foreign]
        rate, open_ = [Fraction(0)] * len(ways), set(range(len(ways)))
        capacity = {k: self._capacity(k, c) for way in ways for k, c in way.items()}
        while open_:
            steps = [
                (capacity[k] - sum(r for r, way in zip(rate, ways, strict=True) if k in way))
                / sum(k in ways[i] for i in open_)
                for k in capacity
                if any(k in ways[i] for i in open_)
            ]
            step = min([*steps, *(1 - rate[i] for i in open_)])
            for i in open_:
                rate[i] += step
            used = {k: sum(r for r, w in zip(rate, ways, strict=True) if k in w) for k in capacity}
            full = {k for k in capacity if used[k] == capacity[k]}
            open_ = {i for i in open_ if rate[i] < 1 and not full & set(ways[i])}
        return flows, rate[: len(flows)], rate[len(flows) :]

    def _capacity(self, link, capacity):
        if self.others is None or "backbone" in link or link[0] != "main":
            return capacity
        kind, *given = self.others
        if kind == "even":
            return capacity * (1 - given[0])
        if kind == "bursts":
            rate, on, off = given
            return capacity * (1 - rate * (self.now % (on + off) >= off))
        return capacity

    def _pass_time(self):
        flows, mine, foreign = self._rates()
        times = [busy for busy in self.busy if isinstance(busy, Fraction) and busy > self.now]
        times += [m["until"] for m in self.flights if m["served"] and m["until"] is not None]
        times += [self.now + m["left"] / r for m, r in zip(flows, mine, strict=True) if r]
        pairs = zip(self.foreign, foreign, strict=True)
        times += [self.now + left / r for (_, left), r in pairs if r]
        arrivals = None
        if self.others and self.others[0] == "bursts":
            _, _, on, off = self.others
            turn = self.now % (on + off)
            times.append(self.now - turn + (off if turn < off else on + off))
        elif self.others and self.others[0] == "messages":
            arrivals = (self.now // self.others[1] + 1) * self.others[1]
            times.append(arrivals)
        step = min(times) - self.now
        self.now += step
        for m, r in zip(flows, mine, strict=True):
            m["left"] -= r * step
        self.foreign = [
            (k, left - r * step) for (k, left), r in zip(self.foreign, foreign, strict=True)
        ]
        self.foreign = [(k, left) for k, left in self.foreign if left > 0]
        if arrivals == self.now:
            main = (k for k in self.links if k[0] == "main" and "backbone" not in k)
            self.foreign += [(k, self.others[2]) for k in main]
        for m in list(self.flights):
            timed = m["until"] is not None if m["served"] else False
            if (timed and m["until"] <= self.now) or (
                m["served"] and not timed and m.get("left", 1) <= 0
            ):
                self._leave(m)
