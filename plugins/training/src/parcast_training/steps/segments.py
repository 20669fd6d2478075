"""What a rank does in a pass, as a tree whose time is a formula and whose text is a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that exchange in a ring: ``size`` of them, ``stride`` apart."""

    stride: int
    size: int
    start: int = 0  #: a first rank of such a group


@dataclass(frozen=True, slots=True)
class Hop:
    """What a message of some size between neighbors of a group costs, in seconds."""

    send: float  #: the sender's own time, o
    wire: float
    receive: float  #: the receiver's own time, o_r

    @property
    def exchange(self) -> float:
        """A ``sendrecv`` of all at once."""
        return self.send + max(0.0, self.wire + self.receive)

    def beside(self, seconds: float) -> float:
        """An ``isend``, ``irecv``, computation and ``waitall`` of all at once."""
        return self.send + max(self.receive + seconds, self.wire) + self.receive


@dataclass(frozen=True, slots=True)
class Ring:
    """Exchanges of all ranks of a group with one neighbor after another, or with the same."""

    purpose: str
    group: Group
    steps: int
    bytes: float  #: of a message
    hop: Hop
    rotating: bool = False  #: step k is with the neighbor k + 1 away

    @property
    def seconds(self) -> float:
        """Of all steps."""
        return self.steps * self.hop.exchange


@dataclass(frozen=True, slots=True)
class Work:
    """Kernels, or what they wait for on their own rank."""

    purpose: str
    seconds: float
    waiting: bool = False  #: kernels wait so long, and compute nothing


@dataclass(frozen=True, slots=True)
class Beside:
    """Kernels with exchanges beside them, each step with its share of the kernels' time."""

    purpose: str
    work: float
    rings: tuple[Ring, ...]

    @property
    def share(self) -> float:
        """Seconds of work for each second of exchange."""
        return self.work / sum(ring.steps * ring.hop.wire for ring in self.rings)

    @property
    def seconds(self) -> float:
        """Of all steps: the longer of work and exchange, and what they cost the rank itself."""
        return sum(r.steps * r.hop.beside(self.share * r.hop.wire) for r in self.rings)


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same ``count`` times."""

    count: int
    body: tuple[Segment, ...]

    @property
    def seconds(self) -> float:
        """Of all rounds."""
        return self.count * total(self.body)


Segment = Work | Ring | Beside | Repeat


def total(segments: Sequence[Segment]) -> float:
    """Return how long segments take, one after another."""
    return sum(segment.seconds for segment in segments)


def working(segments: Sequence[Segment]) -> float:
    """Return how much of that kernels compute."""
    seconds = 0.0
    for segment in segments:
        if isinstance(segment, Work):
            seconds += 0.0 if segment.waiting else segment.seconds
        elif isinstance(segment, Beside):
            seconds += segment.work
        elif isinstance(segment, Repeat):
            seconds += segment.count * working(segment.body)
    return seconds


def exposed(segments: Sequence[Segment], into: dict[str, float], times: float = 1) -> None:
    """Add to ``into`` how long each sort of exchange keeps kernels from running."""
    for segment in segments:
        if isinstance(segment, Ring) or (isinstance(segment, Work) and segment.waiting):
            into[segment.purpose] = into.get(segment.purpose, 0.0) + times * segment.seconds
        elif isinstance(segment, Beside):
            added = times * (segment.seconds - segment.work)
            into[segment.purpose] = into.get(segment.purpose, 0.0) + added
        elif isinstance(segment, Repeat):
            exposed(segment.body, into, times * segment.count)


def beside(
    purpose: str, work: float, rings: tuple[Ring, ...], *, overlap: bool
) -> tuple[Segment, ...]:
    """Return work and exchanges, beside each other or one after another."""
    rings = tuple(ring for ring in rings if ring.steps)
    if not rings:
        return (Work("kernels", work),)
    if overlap and all(ring.hop.wire > 0 for ring in rings):
        return (Beside(purpose, work, rings),)
    return (*rings, Work("kernels", work))


#: Gives the cost of a message from a rank to another, of so many bytes.
Hops = Callable[[int, int, float], Hop]

#: The same between neighbors of a group.
Messages = Callable[[Group, float], Hop]
