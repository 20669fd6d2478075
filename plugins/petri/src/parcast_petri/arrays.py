"""Nets as the arrays of the kernel, or as the lists of its plain and exact forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

import attrs
import numpy as np

from parcast.expressions import names_in
from parcast_petri.arcs import Whole, arc_columns
from parcast_petri.delays import code, law
from parcast_petri.kernel import layout as k
from parcast_petri.memory import Memory
from parcast_petri.net import Given, Net, Tokens, Transition

#: ``compiled`` and ``plain`` compute with floats, and alike; ``exact`` with fractions.
Form = Literal["compiled", "plain", "exact"]


@attrs.frozen(eq=False)
class Arrays:
    """What makes memories of a net."""

    net: Net
    form: Form
    options: Mapping[int, int]
    columns: Mapping[int, Sequence[Any] | Whole]  #: those that a run does not change
    tie: Sequence[int]
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
        m, ends = [0] * k.HEADER, {False: k.HEADER, True: 1}
        for at in range(k.PRE_AT, k.HEADER):
            m[at] = ends[at in k.REAL]
            ends[at in k.REAL] += sizes[at]
        counts = {k.TRANSITIONS: transitions, k.POOLS: pools, k.QUEUES: queues, k.ROOM: room,
                  k.HEAPS: k.FIRST_POOL + pools + 2 * queues, k.SPARE: slots,
                  k.COUNTED: len(columns[k.MARKING])}  # fmt: skip
        for at, value in {**counts, **self.options}.items():
            m[at] = value
        whole = [columns[at] for at in range(k.PRE_AT, k.HEADER) if at not in k.REAL]
        real = [columns[at] for at in range(k.PRE_AT, k.HEADER) if at in k.REAL]
        if self.form == "compiled":
            return Memory(
                np.concatenate([np.asarray(one, np.int64) for one in (m, *whole)]),
                np.concatenate([np.asarray(one, np.float64) for one in ([0], *real)]),
                sizes,
                slots,
            )
        exactly = Fraction if self.form == "exact" else float
        listed = [
            x for one in whole for x in (one.tolist() if isinstance(one, np.ndarray) else one)
        ]
        return Memory([*m, *listed], [*map(exactly, chain([0], *real))], sizes, slots)

    def grown(self, old: Memory) -> Memory:
        """Return a memory in the same state with room for twice as many timers."""
        new = self.memory(old.sizes[k.TRACE], 2 * old.slots + 64)
        new.m[: k.TRANSITIONS] = old.m[: k.TRANSITIONS]
        new.f[k.CLOCK] = old.f[k.CLOCK]
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
                new.m[new.m[k.PLACE] + item] = position
        end = old.sizes[k.PLACE]
        free = [*range(new.sizes[k.PLACE] - 1, end - 1, -1)]
        kept = old.column(k.FREE, 0, int(old.m[k.SPARE]))
        new.fill(k.FREE, [*free, *kept])
        new.m[k.SPARE] = len(free) + len(kept)
        return new

    def _changed(self, slots: int, room: int) -> dict[int, Sequence[Any]]:
        """Return the columns that a run changes, as they are before it."""
        transitions, pools, queues = len(self.tie), len(self.pools), len(self.queues)
        fixed = transitions + pools + queues
        items, marking = fixed + slots, self._marking()
        member = [sum(t.speed == pool for t in self.net.transitions) for pool in self.pools]
        waiting = [sum(t.queue == queue for t in self.net.transitions) for queue in self.queues]
        sizes = [transitions + pools + slots, transitions, queues]
        sizes += [*(one + slots for one in member), *waiting, *waiting]
        base = _starts([range(size) for size in sizes])
        each = {at: [0] * transitions for at in (k.DEGREE, k.ACTIVE, k.FIRED, k.LAST)}
        each |= {at: [0] * pools for at in (k.DIRTY, k.DIRTY_LIST, k.VIRTUAL, k.UPDATED, k.SPEED)}
        each[k.PROMISED] = [0] * queues
        each |= {at: [0] * items for at in (k.PENDING, k.PENDING_LIST)}
        each |= {at: [-1] * items for at in (k.OLDER, k.YOUNGER, k.PLACE)}
        return each | {
            k.MARKING: marking,
            k.SAVED: marking,
            k.HEAD: [-1] * transitions,
            k.LEFT: [-1] * transitions,
            k.OWNER: [*range(transitions), *[-1] * (items - transitions)],
            k.TIE: [*self.tie, *[0] * (items - transitions)],
            k.FREE: [*range(items - 1, fixed - 1, -1)],
            k.HEAP: [0] * base[-1],
            k.KEY: [0] * base[-1],
            k.BASE: base[:-1],
            k.SIZE: [0] * len(sizes),
            k.TRACE: [0] * room,
            k.TRACE_TIME: [0] * room,
            k.STACK: [0] * (self.depth + 1),
        }

    def _marking(self) -> list[int]:
        net = self.net
        return [*(net.initial.get(place, 0) for place in net.places), *[0] * len(net.loads)]


def arrays(
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
    pools = tuple(dict.fromkeys(t.speed for t in net.transitions if t.speed is not None))
    queues = tuple(dict.fromkeys(t.queue for t in net.transitions if t.queue is not None))
    granted = [-1 if t.queue is None else places[t.queue] for t in net.transitions]
    tie = [0] * len(net.transitions)
    order = sorted(range(len(tie)), key=lambda t: (-net.transitions[t].priority, t))
    for rank, t in enumerate(order):
        tie[t] = rank
    codes = [code(t.delay, places) if isinstance(t.delay, Tokens) else [] for t in net.transitions]
    codes += [code(pool, places) for pool in pools]
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
            k.ORDINARY: int(all(map(_plain, net.transitions))),
        },
        columns={
            **arc_columns(net, places, np.array(granted, np.int64)),
            **_concerned(net, places, pools, queues),
            **_attributes(net, places, pools, form),
            k.CODE_AT: _starts(codes),
            k.CODE: [op for code in codes for op, _ in code],
            k.OPERAND: [*(operand for code in codes for _, operand in code), 0],
        },
        tie=tie,
        depth=max(map(len, codes), default=0),
        plural=sum(_enabled(net, t) for t in net.transitions if t.servers != 1),
        pools=pools,
        queues=queues,
    )


def _attributes(
    net: Net, places: Mapping[str, int], pools: Sequence[Tokens], form: Form
) -> dict[int, Sequence[Any]]:
    laws = [law(t, exact=form == "exact") for t in net.transitions]
    index = {pool: at for at, pool in enumerate(pools)}
    return {
        k.PLAIN: [_plain(t) for t in net.transitions],
        k.IMMEDIATES: [int(t.delay is None) for t in net.transitions],
        k.SERVERS: [-1 if t.servers is None else t.servers for t in net.transitions],
        k.AGE: [int(t.memory == "age") for t in net.transitions],
        k.POOL: [-1 if t.speed is None else index[t.speed] for t in net.transitions],
        k.LOAD: [-1 if t.load is None else places[t.load] for t in net.transitions],
        k.KIND: [kind for kind, *_ in laws],
        k.DELAY: [first for _, first, _, _ in laws],
        k.SECOND: [second for _, _, second, _ in laws],
        k.TABLE_AT: _starts([table for *_, table in laws]),
        k.TABLE: [value for *_, table in laws for value in table],
    }


def _plain(one: Transition) -> int:
    """Return 1 where a transition's timer, constant or drawn, is all that it has."""
    timer = one.delay is not None and not isinstance(one.delay, Tokens | Given)
    beside = one.inhibitor or one.speed or one.load or one.memory == "age"
    return int(timer and one.servers == 1 and not beside)


def _starts(lists: Sequence[Sized]) -> list[int]:
    return [0, *np.cumsum([*map(len, lists)], dtype=np.int64).tolist()]


def _burst(net: Net) -> int:
    """Return how many timers one firing may start in transitions with several servers."""
    if all(one.servers == 1 for one in net.transitions):
        return 0
    takers: dict[str, int] = {}
    for one in net.transitions:
        for place in {**one.pre, **one.inhibitor} if one.servers != 1 else ():
            takers[place] = takers.get(place, 0) + 1
    freed = sum(_enabled(net, one) for one in net.transitions if one.inhibitor)
    return (
        1
        + freed
        + max(
            sum(tokens * takers.get(place, 0) for place, tokens in one.post.items())
            for one in net.transitions
        )
    )


def _enabled(net: Net, transition: Transition) -> int:
    """Return how often a transition is enabled at first, inhibitors left aside."""
    least = [net.initial.get(place, 0) // weight for place, weight in transition.pre.items()]
    found = min(least, default=1)
    return found if transition.servers is None else min(found, transition.servers)


def _concerned(
    net: Net, places: Mapping[str, int], pools: Sequence[Tokens], queues: Sequence[str]
) -> dict[int, Sequence[Any]]:
    """Return the columns of pools and queues that must be looked at when tokens move."""
    stirred: list[list[int]] = [[] for _ in places]
    for index, pool in enumerate(pools):
        for name in sorted(names_in(pool.expr)):
            stirred[places[name]].append(index)
    number = {queue: at for at, queue in enumerate(queues)}
    grants = [number.get(name, -1) for name in places]
    return {
        k.STIR_AT: _starts(stirred),
        k.STIR: [pool for one in stirred for pool in one],
        k.QUEUE: [-1 if t.queue is None else number[t.queue] for t in net.transitions],
        k.RESOURCE: [places[queue] for queue in queues],
        k.GRANTS: grants,
    }
