"""Nets as the arrays of the kernel, or as the lists of its plain and exact forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
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
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        return list(memory[first + start : first + (self.sizes[at] if end is None else end)])

    def fill(self, at: int, values: Sequence[Any]) -> None:
        """Set the first entries of a column."""
        memory = self.f if at in k.REAL else self.m
        first = int(self.m[at])
        memory[first : first + len(values)] = values

    def copy_from(self, other: Memory) -> None:
        """Take over all entries of a memory of the same net, form and size."""
        self.m[:] = other.m
        self.f[:] = other.f


@attrs.frozen(eq=False)
class Arrays:
    """What makes memories of a net."""

    net: Net
    form: Form
    options: Mapping[int, int]
    columns: Mapping[int, Sequence[Any] | Whole]  #: those that a run does not change
    numbers: Numbers
    tie: Whole
    depth: int  #: of the deepest expression
    plural: int  #: timers of transitions with several servers, at the initial marking

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
        transitions, pools, queues = (
            len(self.tie),
            len(self.numbers.pools),
            len(self.numbers.queues),
        )
        columns = {**self.columns, **self._changed(slots, room)}
        sizes = {at: len(column) for at, column in columns.items()}
        m, ends = [0] * k.HEADER, {False: k.HEADER, True: k.SAME + 1}
        for at in range(k.PRE_AT, k.HEADER):
            m[at] = ends[at in k.REAL]
            ends[at in k.REAL] += sizes[at]
        counts = {k.TRANSITIONS: transitions, k.POOLS: pools, k.QUEUES: queues, k.ROOM: room,
                  k.HEAPS: k.FIRST_POOL + pools + 2 * queues, k.SPARE: slots,
                  k.COUNTED: len(columns[k.MARKING])}  # fmt: skip
        for at, value in {**counts, **self.options}.items():
            m[at] = value
        same = 0.0 if self.form == "exact" else self.net.same
        times = [0.0, 0.0, 0.0, same]
        whole = [columns[at] for at in range(k.PRE_AT, k.HEADER) if at not in k.REAL]
        real = [columns[at] for at in range(k.PRE_AT, k.HEADER) if at in k.REAL]
        if self.form == "compiled":
            return Memory(
                np.concatenate([np.asarray(column, np.int64) for column in (m, *whole)]),
                np.concatenate([np.asarray(column, np.float64) for column in (times, *real)]),
                sizes,
                slots,
            )
        number = Fraction if self.form == "exact" else float
        reals = map(number, chain(times, _entries(real)))
        return Memory([*m, *_entries(whole)], [*reals], sizes, slots)

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

    def _changed(self, slots: int, room: int) -> dict[int, Whole]:
        """Return the columns that a run changes, as they are before it."""
        transitions, pools, queues = (
            len(self.tie),
            len(self.numbers.pools),
            len(self.numbers.queues),
        )
        fixed = transitions + pools + queues
        items, marking = fixed + slots, self._marking()
        special = self.net.specials()
        members = Counter(t.speed for t in special)
        waiting = Counter(t.queue for t in special)
        lines = [waiting[queue] for queue in self.numbers.queues]
        sizes = [transitions + pools + slots, transitions, queues]
        sizes += [*(members[pool] + slots for pool in self.numbers.pools), *lines, *lines]
        base = np.cumsum([0, *sizes])
        zeros = dict.fromkeys((k.DEGREE, k.ACTIVE, k.FIRED, k.LAST), transitions)
        zeros |= dict.fromkeys((k.DIRTY, k.DIRTY_LIST, k.VIRTUAL, k.UPDATED, k.SPEED), pools)
        links = (k.OPEN, k.STALE, k.STALE_LIST, k.LEFT_ON)
        zeros |= dict.fromkeys(links, len(self.net.links))
        zeros |= dict.fromkeys((k.RATE, k.RATE_BEFORE), len(marking))
        zeros |= dict.fromkeys((k.PENDING, k.PENDING_LIST), items)
        zeros |= dict.fromkeys((k.HEAP, k.KEY), base[-1])
        zeros |= dict.fromkeys((k.TRACE, k.TRACE_TIME), room)
        zeros |= {k.PROMISED: queues, k.SIZE: len(sizes), k.STACK: self.depth + 1}
        minus_ones = dict.fromkeys((k.OLDER, k.YOUNGER, k.SLOT), items)
        minus_ones |= dict.fromkeys((k.HEAD, k.LEFT), transitions)
        padding = np.zeros(items - transitions, np.int64)
        return {
            **{at: np.zeros(length, np.int64) for at, length in zeros.items()},
            **{at: np.full(length, -1) for at, length in minus_ones.items()},
            k.MARKING: marking,
            k.SAVED: marking,
            k.OWNER: np.append(np.arange(transitions), padding - 1),
            k.TIE: np.append(self.tie, padding),
            k.FREE: np.arange(items - 1, fixed - 1, -1),
            k.BASE: base[:-1],
        }

    def _marking(self) -> Whole:
        net = self.net
        marking = np.zeros(len(net.places) + len(net.loads), np.int64)
        for place, tokens in net.initial.items():
            marking[self.numbers.places[place]] = tokens
        return marking


def _entries(columns: Sequence[Any]) -> Iterator[Any]:
    """Yield the entries of columns as Python's own numbers."""
    for column in columns:
        yield from column.tolist() if isinstance(column, np.ndarray) else column


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
    return Arrays(
        net=net,
        form=form,
        options=options,
        columns=columns,
        numbers=numbers,
        tie=firing_order(net),
        depth=int(np.diff(columns[k.CODE_AT]).max(initial=0)),
        plural=sum(enabled_at_first(net, t) for t in net.specials() if t.servers != 1),
    )
