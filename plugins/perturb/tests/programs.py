"""Random programs, and a simulator of them that knows nothing of delays or slack.

It is the independent oracle: a perturbed run is the same program with other numbers.
Every time is a whole number of ticks.
"""

import random
from dataclasses import dataclass, replace

MANY = ("barrier", "allreduce", "alltoall")
ROOTED = ("bcast", "scatter", "reduce", "gather")


@dataclass(frozen=True)
class Costs:
    o: int
    latency: int
    per_byte: int
    eager_max: int = 1 << 40
    compute: int = 0  # added to every gap


#: What one-sided calls bring back is waited for by ``win_complete``.
FETCHES = ("get", "fetch_and_op")


def _fence(rng, ranks, add):
    for rank in ranks:
        add(rank, "win_fence")
    for _ in range(rng.randint(0, 4)):
        origin, target = rng.sample(ranks, 2)
        add(origin, rng.choice(["put", "get"]), peer=target, bytes=rng.choice([0, 8, 90]))
    for rank in ranks:
        add(rank, "win_fence")


def _post(rng, ranks, add):
    origin, *targets = rng.sample(ranks, rng.randint(2, len(ranks)))
    for target in targets:
        add(target, "win_post", group=[origin])
    add(origin, "win_start", group=targets)
    for _ in range(rng.randint(0, 4)):
        call, target = rng.choice(["put", "accumulate", *FETCHES]), rng.choice(targets)
        add(origin, call, peer=target, bytes=rng.choice([8, 90]))
    add(origin, "win_complete")
    for target in targets:
        add(target, "win_wait")


def _lock(rng, ranks, add):
    origin, target = rng.sample(ranks, 2)
    add(origin, "win_lock", peer=target)
    for _ in range(rng.randint(0, 3)):
        add(origin, rng.choice(["put", "get"]), peer=target, bytes=rng.choice([8, 90]))
        if rng.random() < 0.5:
            add(origin, "win_flush", peer=target)
    add(origin, "win_unlock", peer=target)


def random_program(seed, *, one_sided=False):
    """Return a list of calls for each rank: (gap before it, call, arguments)."""
    rng = random.Random(seed)
    size = rng.randint(2, 6)
    ranks = [[(0, "init", {})] for _ in range(size)]
    comms = {0: list(range(size)), 1: sorted(rng.sample(range(size), rng.randint(1, size)))}
    late = {rank: [] for rank in range(size)}
    made = iter(range(10**6))

    def add(rank, call, **arguments):
        ranks[rank].append((rng.choice([0, 3, 40, 300, 1500]), call, arguments))

    for _ in range(rng.randint(3, 25)):
        kinds = ["message"] * 5 + ["many", "many", "rooted", "scan", "ring", "wait"]
        kind = rng.choice(kinds + [_fence, _post, _lock] * 2 * one_sided)
        a, b = rng.sample(range(size), 2)
        tag, size_of = rng.randint(0, 1), rng.choice([0, 8, 90, 200])
        comm = rng.choice(list(comms))
        if callable(kind):
            kind(rng, list(range(size)), add)
        elif kind == "message":
            call = rng.choice(["send", "isend", "ssend", "issend", "bsend"])
            both = {"tag": tag, "bytes": size_of}
            request = {"request": f"s{next(made)}"} if call.startswith("i") else {}
            add(a, call, peer=b, **both, **request)
            late[a] += list(request.values())
            if rng.random() < 0.3:
                add(b, "probe", peer=a, **both)
            request = {"request": f"r{next(made)}"} if rng.random() < 0.5 else {}
            add(b, "irecv" if request else "recv", peer=a, **both, **request)
            late[b] += list(request.values())
        elif kind == "ring":
            for rank in range(size):
                add(rank, "sendrecv", peer=(rank + 1) % size, src=(rank - 1) % size, tag=5, rtag=5,
                    bytes=size_of, rbytes=size_of)  # fmt: skip
        elif kind == "wait":
            if late[a]:
                done = rng.sample(late[a], rng.randint(1, len(late[a])))
                late[a] = [one for one in late[a] if one not in done]
                add(a, "waitall", requests=done)
        else:
            call = rng.choice({"many": MANY, "rooted": ROOTED, "scan": ("scan", "exscan")}[kind])
            later = rng.random() < 0.3
            root = {"root": rng.choice(comms[comm])} if kind == "rooted" else {}
            for rank in comms[comm]:
                request = {"request": f"c{next(made)}"} if later else {}
                late[rank] += list(request.values())
                add(
                    rank, ("i" if later else "") + call, comm=comm, bytes=size_of, **root, **request
                )
    for rank in range(size):
        if late[rank]:
            add(rank, "waitall", requests=late[rank])
        add(rank, "finalize")
    return ranks, comms


class _Run:
    def __init__(self, ranks, comms, costs, extra):
        self.ranks, self.comms, self.costs, self.extra = ranks, comms, costs, extra
        self.at = [0] * len(ranks)
        self.clock = [0] * len(ranks)
        self.events = [[] for _ in ranks]
        self.sent, self.posted = {}, {}  # by channel, in order
        self.calls = {}  # by communicator, lists of {rank: (start, bytes, root, call)}
        self.requests = {}
        self.entered = {}
        self.notices = {}  # by origin, target and what, arrivals in order
        self.read = {}  # how many of them were waited for
        self.windows = [{"locked": None, "started": [], "moved": {}, "pending": {}} for _ in ranks]

    def run(self):
        going = True
        while going:
            going = False
            for rank, calls in enumerate(self.ranks):
                while self.at[rank] < len(calls) and self.step(rank):
                    going = True
        assert all(at == len(calls) for at, calls in zip(self.at, self.ranks, strict=True))
        return self.events

    def step(self, rank):
        index = self.at[rank]
        gap, call, given = self.ranks[rank][index]
        if (rank, index) not in self.entered:
            noisy = index and gap > 0  # nothing computed, nothing to disturb
            delta = self.extra.get((rank, index), 0) + (self.costs.compute if noisy else 0)
            start = self.clock[rank] + max(0, gap + delta) if index else max(0, delta)
            self.entered[rank, index] = (start, self.enter(rank, start, call, given))
        start, needs = self.entered[rank, index]
        end = self.end(rank, start, call, given, needs)
        if end is None:
            return False
        self.clock[rank], self.at[rank] = end, index + 1
        self.events[rank].append({"kind": call, "t_start": start, "t_end": end, **given})
        return True

    def enter(self, rank, start, call, given):
        o, x = self.costs.o, start + self.costs.o
        needs = {}
        if call in ("send", "ssend", "bsend", "isend", "issend", "sendrecv"):
            sized = call in ("send", "isend", "sendrecv")
            late = call in ("ssend", "issend") or (sized and given["bytes"] > self.costs.eager_max)
            arrival = x + self.costs.latency + given["bytes"] * self.costs.per_byte
            message = {"arrival": arrival, "ack": None, "late": late}
            channel = (rank, given["peer"], given["tag"])
            self.sent.setdefault(channel, []).append(message)
            needs["message"] = message
        if call in ("recv", "irecv", "sendrecv"):
            source = given["src"] if call == "sendrecv" else given["peer"]
            channel = (source, rank, given.get("rtag", given["tag"]))
            posts = self.posted.setdefault(channel, [])
            post = {"channel": channel, "number": len(posts), "blocking": call == "recv",
                    "at": x}  # fmt: skip
            posts.append(post)
            needs["post"] = post
        if call in ("put", "accumulate", *FETCHES):
            mine, peer = self.windows[rank], given["peer"]
            if mine["locked"] == peer or (peer in mine["started"] and call in FETCHES):
                done = x + 2 * self.costs.latency + given["bytes"] * self.costs.per_byte
                mine["pending"].setdefault(peer, []).append(done)
            else:
                mine["moved"][peer] = mine["moved"].get(peer, 0) + given["bytes"]
        if call == "win_fence":
            moved = self.windows[rank].pop("moved")
            self.windows[rank]["moved"] = {}
            given = {"comm": 0, "bytes": sum(moved.values())}
        kind = call.removeprefix("i") if "request" in given else call
        if kind in ("win_fence", *MANY, *ROOTED, "scan", "exscan"):
            calls = self.calls.setdefault(given["comm"], [])
            number = sum(rank in one for one in calls)
            if number == len(calls):
                calls.append({})
            calls[number][rank] = (start, given["bytes"])
            needs["call"] = (kind, calls[number], given, rank)
        if "request" in given:
            self.requests[given["request"]] = needs
        return needs if o >= 0 else None

    def message(self, post):
        sent = self.sent.get(post["channel"], [])
        return sent[post["number"]] if post["number"] < len(sent) else None

    def arrival(self, post):
        found = self.message(post)
        return None if found is None else found["arrival"]

    def acknowledged(self, message):
        """Return when a late message's sender may go on, None while that is unknown."""
        for channel, sent in self.sent.items():
            for number, one in enumerate(sent):
                if one is message:
                    posts = self.posted.get(channel, [])
                    if number >= len(posts):
                        return None
                    post = posts[number]
                    if post["blocking"]:
                        ended = post.get("ended")
                    else:
                        ended = max(post["at"], message["arrival"])
                    return None if ended is None else ended + self.costs.latency
        raise AssertionError

    def called(self, kind, came, given, rank):
        """Return when a member has what it waits for: (known, time or None)."""
        members = self.comms[given["comm"]]
        if kind in ("win_fence", *MANY):
            sources = members
        elif kind in ("bcast", "scatter"):
            sources = [] if rank == given["root"] else [given["root"]]
        elif kind in ("reduce", "gather"):
            sources = [one for one in members if one != rank] if rank == given["root"] else []
        else:
            sources = [one for one in members if one < rank]
        gathers = kind in ("reduce", "gather") and rank == given["root"]
        if any(one not in came for one in (members if gathers else sources)):
            return False, None
        stages = max(0, len(members) - 1).bit_length()
        each = stages * (self.costs.o + self.costs.latency)
        times = [came[one][0] + each + came[one][1] * self.costs.per_byte for one in sources]
        return True, max(times, default=None)

    def end(self, rank, start, call, given, needs):
        o = self.costs.o
        if call.startswith("win_") and call != "win_fence":
            return self.synchronized(rank, start, call, given)
        if "request" in given or call in (
            "init", "finalize", "bsend", "put", "accumulate", *FETCHES
        ):  # fmt: skip
            return start + o
        if call == "recv":
            arrival = self.arrival(needs["post"])
            if arrival is None:
                return None
            needs["post"]["ended"] = max(start, arrival) + o
            return needs["post"]["ended"]
        if call == "probe":
            channel = (given["peer"], rank, given["tag"])
            number = len(self.posted.get(channel, []))
            arrival = self.arrival({"channel": channel, "number": number})
            return None if arrival is None else max(start, arrival) + o
        if call in ("send", "ssend"):
            if not needs["message"]["late"]:
                return start + o
            ack = self.acknowledged(needs["message"])
            return None if ack is None else max(start + o, ack)
        if call == "sendrecv":
            arrival = self.arrival(needs["post"])
            ack = self.acknowledged(needs["message"]) if needs["message"]["late"] else start
            return None if arrival is None or ack is None else max(max(start, arrival) + o, ack)
        if call == "waitall":
            times = [self.done(self.requests[one]) for one in given["requests"]]
            return None if any(not known for known, _ in times) else max(
                [start, *(at for _, at in times if at is not None)]) + o  # fmt: skip
        known, at = self.called(*needs["call"])
        if not known:
            return None
        if call in ("win_fence", *MANY):
            return at
        return start + o if at is None else max(start + o, at)

    def synchronized(self, rank, start, call, given):
        mine, awaited = self.windows[rank], [start]
        if call == "win_lock":
            mine["locked"] = given["peer"]
        if call in ("win_flush", "win_unlock"):
            awaited += mine["pending"].pop(given["peer"], [])
            mine["locked"] = None if call == "win_unlock" else mine["locked"]
        if call == "win_complete":
            for target in mine["started"]:
                awaited += mine["pending"].pop(target, [])
        if call in ("win_start", "win_wait"):
            others = given["group"] if call == "win_start" else mine["group"]
            keys = [(one, rank, call) for one in others]
            for key in keys:
                if len(self.notices.get(key, [])) <= self.read.get(key, 0):
                    return None
            for key in keys:
                awaited.append(self.notices[key][self.read.get(key, 0)])
                self.read[key] = self.read.get(key, 0) + 1
            mine["started"] = others if call == "win_start" else mine["started"]
        end = max(awaited) + self.costs.o
        if call == "win_post":
            mine["group"] = given["group"]
            self.notify(rank, end, "win_start", dict.fromkeys(given["group"], 0))
        if call == "win_complete":
            sizes = {one: mine["moved"].pop(one, 0) for one in mine["started"]}
            self.notify(rank, end, "win_wait", sizes)
            mine["started"] = []
        return end

    def notify(self, rank, at, what, sizes):
        for target, size in sizes.items():
            arrival = at + self.costs.latency + size * self.costs.per_byte
            self.notices.setdefault((rank, target, what), []).append(arrival)

    def done(self, needs):
        if "call" in needs:
            return self.called(*needs["call"])
        if "post" in needs:
            arrival = self.arrival(needs["post"])
            return arrival is not None, arrival
        if not needs["message"]["late"]:
            return True, None
        ack = self.acknowledged(needs["message"])
        return ack is not None, ack


def simulate(program, costs, extra=None):
    """Return the events of every rank as the neutral format has them."""
    ranks, comms = program
    return _Run(ranks, comms, costs, extra or {}).run()


def neutral(program, costs):
    """Return a program's run as the object of a trace file."""
    events = simulate(program, costs)
    comms = {str(name): members for name, members in program[1].items()}
    return {"nranks": len(events), "ranks": events, "comms": comms}


def changed(costs, noise=0, compute=0, latency=0, per_byte=0):
    """Return the costs of a perturbed run; nothing gets less than 0."""
    return replace(
        costs,
        o=max(0, costs.o + noise),
        compute=compute,
        latency=max(0, costs.latency + latency),
        per_byte=max(0, costs.per_byte + per_byte),
    )
