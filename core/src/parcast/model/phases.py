"""The ``phases`` kind: SPMD programs as cycles of computation, messages and I/O.

The words are those of Cremonesi & Gennaro 2002, section 3: a program is a sequence of
phases; a phase repeats cycles; a cycle is some bursts of computation and communication
followed by one burst of I/O.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Annotated, Literal

import attrs

from parcast.errors import InvalidPointError
from parcast.model.answers import Answers
from parcast.model.query import Query
from parcast.quantities.distributions import Distribution
from parcast.quantities.formulas import Formula, Unit

_SURFACE = re.compile(r"surface:(\d+)")


def surface(text: str) -> str | None:
    """Return the formula of the preset ``surface:r``, p^-((r-1)/r), equation 6 of the paper.

    It is how the data that one process exchanges shrinks when an r-dimensional array is
    cut into blocks.
    """
    match = _SURFACE.fullmatch(text.strip())
    if match is None or int(match[1]) < 1:
        return None
    return f"p**(-({match[1]} - 1) / {match[1]})"


_NUMBER = Unit("1")
_WORK = Unit("FLOP")
_BYTES = Unit("B")
_SCALE = Unit("1", preset=surface)
_FROM_ABOVE_ZERO = Unit("1", positive=True)

EXPONENTIAL = Distribution.read("exponential", "1")
CONSTANT = Distribution.read("constant", "1")


def _law(value: Distribution | str) -> Distribution:
    """Return the law that a word or a written law names."""
    return value if isinstance(value, Distribution) else Distribution.read(value, "1")


def _constant(value: int, unit: Unit) -> Formula:
    return Formula.read(value, unit)


@attrs.frozen(kw_only=True)
class Traffic:
    """What the messages of a mean process take, with nothing else on the network, and w.

    A closed queuing network has one station for what messages share: each process spends the part
    w of its transfers there, in turn with all others.
    """

    fixed: float  #: seconds of overheads and latencies
    transfer: float  #: seconds on the links
    level: float  #: w, from 0 to 1
    fullest: str = ""  #: the link that w is of, as ``leaf3 -> spine1``

    def __mul__(self, factor: float) -> Traffic:
        fixed, transfer = self.fixed * factor, self.transfer * factor
        return Traffic(fixed=fixed, transfer=transfer, level=self.level, fullest=self.fullest)


@attrs.frozen(kw_only=True)
class Phase:
    """One phase; every number may be a formula of p, d and the parameters."""

    name: str = ""  #: as rows call the phase
    #: how often bursts and one I/O repeat
    cycles: Annotated[Formula, _FROM_ABOVE_ZERO] = _constant(1, _FROM_ABOVE_ZERO)
    bursts: Annotated[Formula, _FROM_ABOVE_ZERO] = _constant(1, _FROM_ABOVE_ZERO)  #: per cycle
    parallel: Annotated[Formula, _WORK] = _constant(0, _WORK)  #: of all processes, per burst
    serial: Annotated[Formula, _WORK] = _constant(0, _WORK)  #: on every process, per burst
    memory_bytes: Annotated[Formula, _BYTES] = _constant(0, _BYTES)  #: moved by all, per burst
    messages: Annotated[Formula, _NUMBER] = _constant(0, _NUMBER)  #: per process and burst
    bytes: Annotated[Formula, _BYTES] = _constant(0, _BYTES)  #: one process sends in a burst
    scale: Annotated[Formula, _SCALE] = _constant(1, _SCALE)  #: g(p), multiplies ``bytes``
    #: c: processes that synchronize in a burst
    group: Annotated[Formula, _FROM_ABOVE_ZERO] = _constant(1, _FROM_ABOVE_ZERO)
    io: Literal["sync", "async"] = "sync"  #: async: I/O overlaps computation
    io_bytes: Annotated[Formula, _BYTES] = _constant(0, _BYTES)  #: all processes, per cycle
    distribution: Annotated[Distribution, _FROM_ABOVE_ZERO] = attrs.field(
        default=EXPONENTIAL, converter=_law
    )  #: of the computation in a burst; only its shape counts
    pattern: Literal["ring"] = "ring"  #: partners, where the phase becomes a program
    #: what the messages of a burst take on one machine, where a program became the phase
    traffic: Traffic | None = None

    @cached_property
    def law(self) -> Distribution:
        """The distribution with a mean of 1."""
        law = self.distribution
        return law if law.mean == 1 else law.scaled(1 / law.mean)


@attrs.frozen(kw_only=True)
class PhaseValues:
    """A phase at one p, d and set of parameters, in base units.

    At p = 1 nothing is sent and the group is 1, whatever the file says: the reference point
    of a speedup has no communication (the paper's g(1) = 0, extended to the startup).
    """

    name: str
    cycles: float
    bursts: float
    parallel: float
    serial: float
    memory_bytes: float
    messages: float
    bytes: float
    group: int
    io: Literal["sync", "async"]
    io_bytes: float
    distribution: Distribution  #: of mean 1
    pattern: str
    traffic: Traffic | None


@attrs.frozen(kw_only=True, slots=False)  # what it has not is found out twice as fast
class Phases:
    """The content of a ``phases`` workload."""

    phase: tuple[Phase, ...]

    def work(self, query: Query) -> dict[str, float]:
        """Return what all processes do together, and what each of them does."""
        phases = self.at(query)
        bursts = [phase.cycles * phase.bursts for phase in phases]
        pairs = list(zip(phases, bursts, strict=True))
        return {
            "parallel": math.fsum(phase.parallel * count for phase, count in pairs),
            "serial": math.fsum(phase.serial * count for phase, count in pairs),
            "memory_bytes": math.fsum(phase.memory_bytes * count for phase, count in pairs),
            "io_bytes": math.fsum(phase.io_bytes * phase.cycles for phase in phases),
        }

    def uses(self, query: Query) -> dict[str, bool]:
        """Return what the phases do; False is what they could state and do not."""
        messages = works = moves = False
        for phase in self.at(query):
            messages = messages or bool(phase.messages or phase.bytes)
            moves = moves or bool(phase.memory_bytes)
            works = works or bool(phase.parallel or phase.serial)
        return {"messages": messages, "memory": moves} if works or moves else {"messages": messages}

    def at(self, query: Query) -> tuple[PhaseValues, ...]:
        """Return every phase with its numbers at the query's p, d and parameters.

        Raises
        ------
        InvalidPointError
            If a formula has no value there, is negative, or p is no multiple of the group.
        """
        own = query.workload.content is self
        return query.once(Phases, self._known_at) if own else self._known_at(query)

    def _known_at(self, query: Query) -> tuple[PhaseValues, ...]:
        """Return the values at a point, once for all queries that formulas do not tell apart."""
        return _EVALUATED.once(
            (self, query.p, *map(query.value, self._names)),
            lambda: tuple(_at(phase, index, query) for index, phase in enumerate(self.phase)),
        )

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """What the formulas read, p left out."""
        formulas = [value for phase in self.phase for value in attrs.astuple(phase, recurse=False)]
        names = {name for f in formulas if isinstance(f, Formula) for name in f.names}
        return tuple(sorted(names - {"p"}))


#: The numbers of phases at each point: where no formula reads d, they are those of every d.
_EVALUATED = Answers(10_000)


def _at(phase: Phase, index: int, query: Query) -> PhaseValues:
    path = f"phase[{index}]"

    def number(key: str) -> float:
        return query.number(phase, key, path)

    alone = query.p == 1
    return PhaseValues(
        name=phase.name or f"phase {index + 1}",
        cycles=number("cycles"),
        bursts=number("bursts"),
        parallel=number("parallel"),
        serial=number("serial"),
        memory_bytes=number("memory_bytes"),
        messages=0.0 if alone else number("messages"),
        bytes=0.0 if alone else number("bytes") * number("scale"),
        group=1 if alone else _group(number("group"), index, query),
        io=phase.io,
        io_bytes=number("io_bytes"),
        distribution=phase.law,
        pattern=phase.pattern,
        traffic=None if alone else phase.traffic,
    )


def _group(c: float, index: int, query: Query) -> int:
    if c != int(c) or query.p % int(c):
        raise InvalidPointError(
            f"p={query.p} is no multiple of the synchronization group c={c:g} of workload "
            f"{query.workload.name!r}, phase[{index}]; choose p among its multiples"
        )
    return int(c)
