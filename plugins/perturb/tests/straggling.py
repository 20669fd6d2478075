"""Random programs with collectives, one rank of which is slower than the others.

Rounds of computation, messages between neighbors, collectives of all and of groups, blocking and
not, with different roles of even and odd ranks; noise on every computation; clocks with offsets
and drift. The slowed rank computes longer by more than the noise: always, at some places of the
program, or in some rounds.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import attrs

from parcast_traces.trace.columns import Trace
from parcast_traces.trace.recording import Recording

LATENCY = 20e-6


@attrs.frozen
class Straggling:
    """A run, and who was slow in it."""

    trace: Trace
    slow: int
    delay: float  #: seconds that its slowness added to its computation
    even: float  #: the run's seconds with the same noise and nobody slow
    time: float  #: the run's seconds
    noise: float  #: standard deviation of a rank's computation, in seconds


class _Run:
    """Ranks and their clocks; true time in, local time recorded."""

    def __init__(self, draw: random.Random, p: int, *, clocks: bool) -> None:
        self.draw, self.p = draw, p
        self.recording = Recording(p, "straggling")
        self.now = [0.0] * p
        self.offset = [0.0 if clocks else draw.uniform(-5, 5) for _ in range(p)]
        self.drift = [0.0 if clocks else draw.uniform(-5e-5, 5e-5) for _ in range(p)]
        for rank in range(p):
            self.recording.ranks[rank].local("init", *self.local(rank, 0.0, 0.0))

    def local(self, rank: int, *times: float) -> tuple[float, ...]:
        return tuple(self.offset[rank] + time * (1 + self.drift[rank]) for time in times)

    def collective(self, call: str, members: Sequence[int], comm: object, site: str) -> None:
        root = min(members) if call in ("bcast", "reduce") else None
        start = {rank: self.now[rank] for rank in members}
        last = max(start.values()) + LATENCY
        for rank in members:
            end = last
            if call == "bcast":
                end = max(start[rank], start[root]) + LATENCY
            elif call == "reduce" and rank != root:
                end = start[rank] + LATENCY
            self.recording.ranks[rank].collective(
                call, *self.local(rank, start[rank], end), comm=comm, root=root, site=site
            )
            self.now[rank] = end

    def begin(self, comm: object, members: Sequence[int], site: str, number: int) -> float:
        """Begin an allreduce of a group; return when it is done."""
        for rank in members:
            self.recording.ranks[rank].collective(
                "iallreduce", *self.local(rank, self.now[rank], self.now[rank]), comm=comm,
                request=number, site=site,
            )  # fmt: skip
        return max(self.now[rank] for rank in members) + LATENCY

    def wait(self, members: Sequence[int], done: float, site: str, number: int) -> None:
        for rank in members:
            end = max(self.now[rank], done)
            self.recording.ranks[rank].wait(
                "wait", *self.local(rank, self.now[rank], end), [number], site=site
            )
            self.now[rank] = end

    def ring(self, site: str) -> None:
        """Even ranks send first, odd ones receive first; the last of an odd p does as the even."""
        p, sent = self.p, list(self.now)
        for rank in range(p):
            recorder, left, right = self.recording.ranks[rank], (rank - 1) % p, (rank + 1) % p
            arrives = sent[left] + LATENCY
            start, end = sent[rank], max(sent[rank], arrives)
            if rank % 2 == 0:
                recorder.send("send", *self.local(rank, start, start), right, 8.0, site=site)
                recorder.receive("recv", *self.local(rank, start, end), left, site=f"{site} even")
            else:
                recorder.receive("irecv", *self.local(rank, start, start), left, request="r",
                                 site=f"{site} odd")  # fmt: skip
                recorder.send("send", *self.local(rank, start, start), right, 8.0, site=site)
                recorder.wait("wait", *self.local(rank, start, end), ["r"], site=f"{site} odd")
            self.now[rank] = end

    def finish(self, *, clocks: bool) -> Trace:
        for rank in range(self.p):
            now = self.now[rank]
            self.recording.ranks[rank].local("finalize", *self.local(rank, now, now))
        return self.recording.trace(tick=1.0, comparable=clocks)


def straggling(
    seed: int, *, clocks: bool, factor: float | None = None, collectives: bool = True
) -> Straggling:
    """Return a random run with a slow rank, which computes longer by a share of ``factor``.

    Without collectives ranks pass messages round a ring alone, and clocks do not drift.
    """
    draw = random.Random(f"straggling {seed}")
    p, rounds = draw.randint(2, 12), draw.randint(5, 40)
    noise = draw.choice([0.005, 0.02, 0.1])
    slow, drawn = draw.randrange(p), draw.uniform(3, 12) * noise
    factor = drawn if factor is None else factor
    kinds = ["compute"] + [
        draw.choice(["compute", "ring", "world", "groups", "begun", "rooted"])
        for _ in range(draw.randint(1, 6))
    ]
    kinds.append("world")
    if not collectives:
        kinds = [kind if kind == "compute" else "ring" for kind in kinds]
    plan = [(kind, 10 ** draw.uniform(-3, -1)) for kind in kinds]
    computing = [number for number, (kind, _) in enumerate(plan) if kind in ("compute", "begun")]
    how = draw.choice(["always", "places", "rounds"])
    places = set(draw.sample(computing, max(1, len(computing) // 2)))
    chosen = set(draw.sample(range(rounds), max(1, rounds // 3)))
    group = draw.choice([size for size in range(1, p + 1) if p % size == 0])

    def slowed(place: int, number: int) -> bool:
        return (
            how == "always"
            or (how == "places" and place in places)
            or (how == "rounds" and number in chosen)
        )

    def run(share: float) -> tuple[_Run, float, float]:
        noises, made = random.Random(f"noise {seed}"), _Run(random.Random(seed), p, clocks=clocks)
        made.drift = made.drift if collectives else [0.0] * p
        added = variance = 0.0
        groups = [list(range(first, first + group)) for first in range(0, p, group)]
        for members in groups:
            made.recording.communicator(f"group {members[0]}", members)

        def compute(place: int, seconds: float, number: int) -> None:
            nonlocal added, variance
            variance += (noise * seconds) ** 2
            for rank in range(p):
                usual = seconds * max(0.1, 1 + noise * noises.gauss(0, 1))
                more = seconds * share if rank == slow and slowed(place, number) else 0.0
                made.now[rank] += usual + more
                added += more

        for number in range(rounds):
            for place, (kind, seconds) in enumerate(plan):
                site = f"line {place}"
                if kind == "compute":
                    compute(place, seconds, number)
                elif kind == "ring":
                    made.ring(site)
                elif kind == "world":
                    made.collective("allreduce", range(p), 0, site)
                elif kind == "rooted":
                    made.collective(draw_call(place), range(p), 0, site)
                elif kind == "groups":
                    for members in groups:
                        made.collective("allreduce", members, f"group {members[0]}", site)
                else:
                    done = made.begin(0, range(p), site, number)
                    compute(place, seconds, number)
                    made.wait(range(p), done, f"{site} end", number)
        return made, added, variance**0.5

    def draw_call(place: int) -> str:
        return "bcast" if place % 2 else "reduce"

    made, added, deviation = run(factor)
    time, without = max(made.now), max(run(0.0)[0].now)
    return Straggling(made.finish(clocks=clocks), slow, added, without, time, deviation)
