"""Nets as the arrays of the kernel, or as the lists of its plain and exact forms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

import attrs
import numpy as np

from parcast_petri.kernel import layout as k
from parcast_petri.nets.arcs import Whole, arc_columns
from parcast_petri.nets.delays import code, law
from parcast_petri.nets.memory import Memory
from parcast_petri.nets.net import Given, Net, Tokens, Transition

#: ``compiled`` and ``plain`` compute with floats, and alike; ``exact`` with fractions.
Form = Literal["compiled", "plain", "exact"]


@attrs.frozen(eq=False)
class Arrays:
    """What makes memories of a net."""

    net: Net
    form: Form
    options: Mapping[int, int]
    columns: Mapping[int, Sequence[Any] | Whole]  #: those that a run does not change
    places: Mapping[str, int]  #: places and loads
    tie: Whole
    depth: int  #: of the deepest expression
    plural: int  #: timers of transitions with several servers, at the initial marking
    pools: tuple[Tokens, ...]
    queues: tuple[str, ...]

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
        transitions, pools, queues = len(self.tie), len(self.pools), len(self.queues)
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
        integers, reals = (
            [
                x
                for column in group
                for x in (column.tolist() if isinstance(column, np.ndarray) else column)
            ]
            for group in (whole, real)
        )
        return Memory([*m, *integers], [*map(number, (*times, *reals))], sizes, slots)

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
        transitions, pools, queues = len(self.tie), len(self.pools), len(self.queues)
        fixed = transitions + pools + queues
        items, marking = fixed + slots, self._marking()
        special = [self.net.transitions[at] for at in self.net.special]
        members = Counter(t.speed for t in special)
        waiting = Counter(t.queue for t in special)
        lines = [waiting[queue] for queue in self.queues]
        sizes = [transitions + pools + slots, transitions, queues]
        sizes += [*(members[pool] + slots for pool in self.pools), *lines, *lines]
        base = np.cumsum([0, *sizes])
        zeros = dict.fromkeys((k.DEGREE, k.ACTIVE, k.FIRED, k.LAST), transitions)
        zeros |= dict.fromkeys((k.DIRTY, k.DIRTY_LIST, k.VIRTUAL, k.UPDATED, k.SPEED), pools)
        zeros |= dict.fromkeys((k.OPEN, k.LEFT_ON), len(self.net.links))
        zeros |= dict.fromkeys((k.PENDING, k.PENDING_LIST), items)
        zeros |= dict.fromkeys((k.HEAP, k.KEY), base[-1])
        zeros |= dict.fromkeys((k.TRACE, k.TRACE_TIME), room)
        zeros |= {k.PROMISED: queues, k.RATE: len(marking), k.SIZE: len(sizes),
                 k.STACK: self.depth + 1}  # fmt: skip
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
            marking[self.places[place]] = tokens
        return marking


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
    places = {name: index for index, name in enumerate((*net.places, *net.loads))}
    special = [(at, net.transitions[at]) for at in net.special]
    pools = tuple(dict.fromkeys(t.speed for _, t in special if t.speed is not None))
    queues = tuple(dict.fromkeys(t.queue for _, t in special if t.queue is not None))
    granted, tie = np.full(len(net.transitions), -1), np.arange(len(net.transitions))
    for at, transition in special:
        if transition.queue is not None:
            granted[at] = places[transition.queue]
    if any(transition.priority for _, transition in special):
        tie[sorted(tie.tolist(), key=lambda t: (-net.transitions[t].priority, t))] = tie.copy()
    codes = {
        at: code(transition.delay, places)
        for at, transition in special
        if isinstance(transition.delay, Tokens)
    }
    rate_codes = [
        code(number, places) for number in (*pools, *(link.capacity for link in net.links))
    ]
    codes |= dict(enumerate(rate_codes, len(net.transitions)))
    columns = {
        **arc_columns(net, places, granted),
        **_concerned(net, places, pools, queues),
        **_attributes(net, places, pools, form),
        **_shared(net, places),
        k.CODE_AT: _starts(codes, len(net.transitions) + len(rate_codes)),
        k.CODE: [op for operations in codes.values() for op, _ in operations],
        k.OPERAND: [*(operand for operations in codes.values() for _, operand in operations), 0],
    }
    return Arrays(
        net=net,
        form=form,
        options={
            k.BOUND: bound,
            k.STOP_PLACE: -1 if until is None else places[until[0]],
            k.STOP_TOKENS: 0 if until is None else until[1],
            k.SEQUENTIAL: int(evaluation == "sequential"),
            k.RANDOM: int(net.random),
            k.BURST: _burst(net),
            k.LINKS: len(net.links),
            k.ORDINARY: int(np.all(columns[k.PLAIN])),
        },
        columns=columns,
        places=places,
        tie=tie,
        depth=max(map(len, codes.values()), default=0),
        plural=sum(
            _enabled(net, transition) for _, transition in special if transition.servers != 1
        ),
        pools=pools,
        queues=queues,
    )


def _attributes(
    net: Net, places: Mapping[str, int], pools: Sequence[Tokens], form: Form
) -> dict[int, Sequence[Any] | Whole]:
    count = len(net.transitions)
    index = {pool: at for at, pool in enumerate(pools)}
    delays = [transition.delay for transition in net.transitions]
    immediate = np.fromiter((delay is None for delay in delays), np.int64, count)
    first: list[Any] = [0.0 if delay is None else delay for delay in delays]
    second: list[Any] = [0.0] * count
    zeros, unit, minus_ones = (
        np.zeros(count, np.int64),
        np.ones(count, np.int64),
        np.full(count, -1),
    )
    kind, servers, age, plain = zeros.copy(), unit.copy(), zeros.copy(), 1 - immediate
    pool, load, tables = minus_ones.copy(), minus_ones.copy(), {}
    for at in net.special:
        t = net.transitions[at]
        kind[at], first[at], second[at], tables[at] = law(t, exact=form == "exact")
        servers[at] = -1 if t.servers is None else t.servers
        age[at], plain[at] = t.memory == "age", _plain(t)
        pool[at] = -1 if t.speed is None else index[t.speed]
        load[at] = -1 if t.load is None else places[t.load]
    return {
        k.PLAIN: plain,
        k.IMMEDIATES: immediate,
        k.SERVERS: servers,
        k.AGE: age,
        k.POOL: pool,
        k.LOAD: load,
        k.KIND: kind,
        k.DELAY: first,
        k.SECOND: second,
        k.TABLE_AT: _starts(tables, count),
        k.TABLE: [*chain.from_iterable(tables.values())],
    }


def _plain(transition: Transition) -> int:
    """Return 1 where a transition's timer, constant or drawn, is all that it has."""
    timer = transition.delay is not None and not isinstance(transition.delay, Tokens | Given)
    extras = (
        transition.inhibitor or transition.speed or transition.load or transition.memory == "age"
    )
    return int(timer and transition.servers == 1 and not extras)


def _starts(lists: Mapping[int, Sized], count: int) -> Whole:
    """Return where each of so many lists begins in all of them together, and where the last ends.

    Those that are not given are empty.
    """
    lengths = np.zeros(count + 1, np.int64)
    for at, values in lists.items():
        lengths[at + 1] = len(values)
    return np.cumsum(lengths)


def _burst(net: Net) -> int:
    """Return how many timers one firing may start in transitions with several servers."""
    special = [net.transitions[at] for at in net.special]
    if all(transition.servers == 1 for transition in special):
        return 0
    takers: dict[str, int] = {}
    for transition in special:
        for place in {**transition.pre, **transition.inhibitor} if transition.servers != 1 else ():
            takers[place] = takers.get(place, 0) + 1
    freed = sum(_enabled(net, transition) for transition in special if transition.inhibitor)
    return (
        1
        + freed
        + max(
            sum(tokens * takers.get(place, 0) for place, tokens in transition.post.items())
            for transition in net.transitions
        )
    )


def _enabled(net: Net, transition: Transition) -> int:
    """Return how often a transition is enabled at first, inhibitors left aside."""
    least = [net.initial.get(place, 0) // weight for place, weight in transition.pre.items()]
    degree = min(least, default=1)
    return degree if transition.servers is None else min(degree, transition.servers)


def _concerned(
    net: Net, places: Mapping[str, int], pools: Sequence[Tokens], queues: Sequence[str]
) -> dict[int, Sequence[Any] | Whole]:
    """Return the columns of pools and queues that must be looked at when tokens move."""
    stirred: dict[int, list[int]] = defaultdict(list)
    for index, pool in enumerate(pools):
        for name in net.read_by(pool):
            stirred[places[name]].append(index)
    number = {queue: at for at, queue in enumerate(queues)}
    grants, queue_of = np.full(len(places), -1), np.full(len(net.transitions), -1)
    for queue, at in number.items():
        grants[places[queue]] = at
    for at in net.special:
        queue_of[at] = number.get(net.transitions[at].queue or "", -1)
    return {
        k.READER_AT: _starts(stirred, len(places)),
        k.READER: [pool for place in sorted(stirred) for pool in stirred[place]],
        k.QUEUE: queue_of,
        k.RESOURCE: [places[queue] for queue in queues],
        k.GRANTS: grants,
    }


def _shared(net: Net, places: Mapping[str, int]) -> dict[int, Sequence[Any] | Whole]:
    """Return the columns of links: what is on them, and the other way round."""
    members = {at: [places[name] for name in link.loads] for at, link in enumerate(net.links)}
    on: dict[int, list[int]] = defaultdict(list)
    for at, positions in members.items():
        for place in dict.fromkeys(positions):
            on[place].append(at)
    return {
        k.MEMBER_AT: _starts(members, len(members)),
        k.MEMBER: [*chain.from_iterable(members.values())],
        k.ON_AT: _starts(on, len(places)),
        k.ON: [link for place in sorted(on) for link in on[place]],
    }
