"""Nets as the arrays of the kernel, or as the lists of its plain and exact forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import attrs
import numpy as np

from parcast_petri.kernel import layout as k
from parcast_petri.nets.arcs import Whole
from parcast_petri.nets.columns import Numbers, burst, enabled_at_first, firing_order, net_columns
from parcast_petri.nets.net import Net

#: ``compiled`` and ``plain`` compute with floats, and alike; ``exact`` with fractions.
Form = Literal["compiled", "plain", "exact"]


@attrs.frozen(eq=False)
class Memory:
    """The two memories of the kernel: whole numbers, and seconds."""

    m: Any
    f: Any
    sizes: Mapping[int, int]  #: of each column
    slots: int  #: timers of transitions with several servers

    def column(self, at: int, start: int = 0, end: int | None = None) -> list[Any]:
        """Return the entries of a column, or some of them."""
        return list(self.entries(at, start, end))

    def entries(self, at: int, start: int = 0, end: int | None = None) -> Sequence[Any]:
        """Return the same as part of a compiled form's memory, which goes on."""
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        part: Sequence[Any] = memory[
            first + start : first + (self.sizes[at] if end is None else end)
        ]
        return part

    def fill(self, at: int, values: Sequence[Any]) -> None:
        """Set the first entries of a column."""
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        memory[first : first + len(values)] = values

    def copy_from(self, other: Memory) -> None:
        """Take over all entries of a memory of the same net, form and size."""
        self.m[:] = other.m
        self.f[:] = other.f


@attrs.frozen
class Constant:
    """A column of one number; those that a run does not change stand in one place."""

    value: int
    length: int

    def __len__(self) -> int:
        return self.length


Column = Sequence[Any] | Whole | Constant


@attrs.frozen(eq=False)
class Arrays:
    """What makes memories of a net."""

    net: Net
    form: Form
    options: Mapping[int, int]
    columns: Mapping[int, Column]  #: those that a run does not change
    tie: Whole
    depth: int  #: of the deepest expression
    marking: Whole  #: the first, then of each load
    pools: Sequence[int]  #: of each, how many transitions have it for a speed
    queues: Sequence[int]  #: of each, how many transitions ask for it
    plural: int = 0  #: timers of transitions with several servers, at the initial marking

    def memory(self, room: int = 0, slots: int = 0) -> Memory:
        """Return a memory in which nothing is enabled yet.

        Parameters
        ----------
        room
            How many firings it can trace.
        slots
            How many timers of transitions with several servers it has room for at least.
        """
        burst = self.options[k.BURST]
        slots = max(slots, 2 * burst + self.plural) if burst else 0
        columns = {**self._changed(slots, room), **self.columns}
        m = self._header(columns, room, slots)
        same = 0.0 if self.form == "exact" else self.net.same
        times = [0.0, 0.0, 0.0, same]
        sizes = {at: len(column) for at, column in columns.items()}
        if self.form == "compiled":
            whole, real = _filled(np.int64, m, m, columns), _filled(np.float64, times, m, columns)
            return Memory(whole, real, sizes, slots)
        number = Fraction if self.form == "exact" else float
        reals = map(number, _listed(times, m, columns, real=True))
        return Memory(_listed(m, m, columns, real=False), [*reals], sizes, slots)

    def _header(self, columns: Mapping[int, Column], room: int, slots: int) -> list[int]:
        """Return the first entries of ``m``, with where each column begins."""
        m, ends = [0] * k.HEADER, {False: k.HEADER, True: k.SAME + 1}
        shared: dict[tuple[bool, int], int] = {}
        for at in sorted(columns, key=lambda at: (-len(columns[at]), at)):  # the longest first
            real, column = at in k.REAL, columns[at]
            if at in self.columns and isinstance(column, Constant):
                if (real, column.value) not in shared:
                    shared[real, column.value] = ends[real]
                    ends[real] += len(column)
                m[at] = shared[real, column.value]
            else:
                m[at] = ends[real]
                ends[real] += len(column)
        pools, queues = len(self.pools), len(self.queues)
        counts = {k.TRANSITIONS: len(self.tie), k.POOLS: pools, k.QUEUES: queues, k.ROOM: room,
                  k.HEAPS: k.FIRST_POOL + pools + 2 * queues, k.SPARE: slots,
                  k.COUNTED: len(self.marking)}  # fmt: skip
        for at, value in {**counts, **self.options}.items():
            m[at] = value
        return m

    def grown(self, old: Memory) -> Memory:
        """Return a memory in the same state with room for twice as many timers."""
        new = self.memory(old.sizes[k.TRACE], 2 * old.slots + 64)
        new.m[: k.TRANSITIONS] = old.m[: k.TRANSITIONS]
        new.f[: k.SAME] = old.f[: k.SAME]
        for at in range(k.MARKING, k.HEADER):
            if at not in (k.FREE, k.HEAP, k.KEY, k.BASE) and not k.DELAY <= at < k.LAST:
                new.fill(at, old.column(at))
        for start, to, size in zip(
            old.column(k.BASE), new.column(k.BASE), old.column(k.SIZE), strict=True
        ):
            items = old.column(k.HEAP, int(start), int(start + size))
            new.m[new.m[k.HEAP] + to : new.m[k.HEAP] + to + size] = items
            keys = old.column(k.KEY, int(start), int(start + size))
            new.f[new.m[k.KEY] + to : new.m[k.KEY] + to + size] = keys
            for position, item in enumerate(items, int(to)):
                new.m[new.m[k.SLOT] + item] = position
        end = old.sizes[k.SLOT]
        free = [*range(new.sizes[k.SLOT] - 1, end - 1, -1)]
        free_before = old.column(k.FREE, 0, int(old.m[k.SPARE]))
        new.fill(k.FREE, [*free, *free_before])
        new.m[k.SPARE] = len(free) + len(free_before)
        return new

    def _changed(self, slots: int, room: int) -> dict[int, Column]:
        """Return the columns that a run changes, as they are before it."""
        transitions, pools, queues = len(self.tie), len(self.pools), len(self.queues)
        fixed = transitions + pools + queues
        items = fixed + slots
        sizes = [transitions + pools + slots, transitions, queues]
        sizes += [*(members + slots for members in self.pools), *self.queues, *self.queues]
        base = np.cumsum([0, *sizes])
        zeros = dict.fromkeys((k.DEGREE, k.ACTIVE, k.FIRED, k.LAST), transitions)
        zeros |= dict.fromkeys((k.DIRTY, k.DIRTY_LIST, k.VIRTUAL, k.UPDATED, k.SPEED), pools)
        links = (k.OPEN, k.STALE, k.STALE_LIST, k.LEFT_ON, k.TAKEN)
        zeros |= dict.fromkeys(links, self.options[k.LINKS])
        zeros |= dict.fromkeys((k.RATE, k.RATE_BEFORE), len(self.marking))
        zeros |= dict.fromkeys((k.PENDING, k.PENDING_LIST), items)
        zeros |= dict.fromkeys((k.HEAP, k.KEY), int(base[-1]))
        zeros |= dict.fromkeys((k.TRACE, k.TRACE_TIME), room)
        zeros |= {k.PROMISED: queues, k.SIZE: len(sizes), k.STACK: self.depth + 1}
        minus_ones = dict.fromkeys((k.OLDER, k.YOUNGER, k.SLOT), items)
        minus_ones |= dict.fromkeys((k.HEAD, k.LEFT), transitions)
        padding = np.zeros(items - transitions, np.int64)
        return {
            **{at: Constant(0, length) for at, length in zeros.items()},
            **{at: Constant(-1, length) for at, length in minus_ones.items()},
            k.MARKING: self.marking,
            k.SAVED: self.marking,
            k.OWNER: np.append(np.arange(transitions), padding - 1),
            k.TIE: np.append(self.tie, padding),
            k.FREE: np.arange(items - 1, fixed - 1, -1),
            k.BASE: base[:-1],
        }


def _filled(kind: Any, first: Sequence[Any], m: list[int], columns: Mapping[int, Column]) -> Any:
    """Return a memory as an array, column by column: all of them at once would take it twice."""
    real = kind is np.float64
    chosen = {at: column for at, column in columns.items() if (at in k.REAL) == real}
    end = max((m[at] + len(column) for at, column in chosen.items()), default=0)
    memory = np.zeros(max(end, len(first)), kind)
    memory[: len(first)] = first
    for at, column in chosen.items():
        content = column.value if isinstance(column, Constant) else column
        memory[m[at] : m[at] + len(column)] = content
    return memory


def _listed(
    first: Sequence[Any], m: list[int], columns: Mapping[int, Column], *, real: bool
) -> list[Any]:
    """Return a memory as a list of Python's own numbers."""
    memory = [*first]
    chosen = [at for at in columns if (at in k.REAL) == real]
    for at in sorted(chosen, key=lambda at: (m[at], -len(columns[at]))):
        column = columns[at]
        if m[at] < len(memory) or not len(column):
            continue  # it stands there already
        if isinstance(column, Constant):
            memory += [column.value] * len(column)
        else:
            memory += column.tolist() if isinstance(column, np.ndarray) else column
    return memory


def kernel_arrays(
    net: Net,
    form: Form = "compiled",
    *,
    evaluation: Literal["batch", "sequential"] = "batch",
    bound: int = 1 << 40,
    until: tuple[str, int] | None = None,
) -> Arrays:
    """Return a net as the kernel reads it.

    Parameters
    ----------
    net
        The net.
    form
        What computes it.
    evaluation
        When a delay that depends on the marking is evaluated: after all firings of the instant
        (``batch``), or right after the firing that enabled it (``sequential``).
    bound
        No place may have more tokens.
    until
        A place and how many tokens in it end a run.

    Raises
    ------
    NetError
        If the exact form is asked of a net with random delays.
    """
    numbers = Numbers.of(net)
    columns = net_columns(numbers, exact=form == "exact")
    options = {
        k.BOUND: bound,
        k.STOP_PLACE: -1 if until is None else numbers.places[until[0]],
        k.STOP_TOKENS: 0 if until is None else until[1],
        k.SEQUENTIAL: int(evaluation == "sequential"),
        k.RANDOM: int(net.random),
        k.BURST: burst(net),
        k.LINKS: len(net.links),
        k.ORDINARY: int(np.all(columns[k.PLAIN])),
    }
    special, names = net.specials(), (*net.places, *net.loads)
    members = Counter(transition.speed for transition in special)
    waiting = Counter(transition.queue for transition in special)
    return Arrays(
        net=net,
        form=form,
        options=options,
        columns=columns,
        tie=firing_order(net),
        depth=int(np.diff(columns[k.CODE_AT]).max(initial=0)),
        marking=np.array([net.initial.get(name, 0) for name in names], np.int64),
        pools=[members[pool] for pool in numbers.pools],
        queues=[waiting[queue] for queue in numbers.queues],
        plural=sum(enabled_at_first(net, t) for t in special if t.servers != 1),
    )
