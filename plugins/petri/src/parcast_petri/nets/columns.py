"""The columns of the kernel that no run changes: what a net's transitions, pools and queues are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Sized
from itertools import chain
from typing import Any

import attrs
import numpy as np

from parcast.quantities import names_in
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arcs import Whole, arc_columns
from parcast_petri.nets.delays import code, law
from parcast_petri.nets.net import Given, Link, Net, Tokens, Transition

Columns = dict[int, Sequence[Any] | Whole]


@attrs.frozen(eq=False)
class Numbers:
    """What of a net the kernel knows by numbers beside its transitions."""

    net: Net
    places: Mapping[str, int]  #: places and loads
    pools: tuple[Tokens, ...]  #: the speeds that differ
    queues: tuple[str, ...]  #: the places that are granted in order of request

    @classmethod
    def of(cls, net: Net) -> Numbers:
        """Return the numbers of a net."""
        special = net.specials()
        return cls(
            net,
            {name: index for index, name in enumerate((*net.places, *net.loads))},
            tuple(dict.fromkeys(t.speed for t in special if t.speed is not None)),
            tuple(dict.fromkeys(t.queue for t in special if t.queue is not None)),
        )


def net_columns(numbers: Numbers, *, exact: bool) -> Columns:
    """Return all columns of a net.

    Raises
    ------
    NetError
        If they are to be exact, and delays are random.
    """
    net, places = numbers.net, numbers.places
    granted = np.full(len(net.transitions), -1)
    for at in net.special:
        if (queue := net.transitions[at].queue) is not None:
            granted[at] = places[queue]
    return {
        **arc_columns(net, places, granted),
        **_queue_and_reader_columns(numbers),
        **_transition_columns(numbers, exact=exact),
        **link_columns(net.links, places, len(places)),
        **_expression_columns(numbers),
    }


def firing_order(net: Net) -> Whole:
    """Return for each transition which it is of those that fire at one time: priority, order."""
    order = np.arange(len(net.transitions))
    if any(transition.priority for transition in net.specials()):
        by_priority = sorted(order.tolist(), key=lambda t: (-net.transitions[t].priority, t))
        order[by_priority] = order.copy()
    return order


def _expression_columns(numbers: Numbers) -> Columns:
    """Return the columns of what is evaluated: delays, then speeds of pools and capacities."""
    net, places = numbers.net, numbers.places
    delays = ((at, net.transitions[at].delay) for at in net.special)
    codes = {at: code(delay, places) for at, delay in delays if isinstance(delay, Tokens)}
    rates = [*numbers.pools, *(link.capacity for link in net.links)]
    first = len(net.transitions)
    codes |= {at: code(rate, places) for at, rate in enumerate(rates, first)}
    operations = [*chain.from_iterable(codes.values())]
    return {
        k.CODE_AT: starts(codes, first + len(rates)),
        k.CODE: [operation for operation, _ in operations],
        k.OPERAND: [*(operand for _, operand in operations), 0],
    }


def _transition_columns(numbers: Numbers, *, exact: bool) -> Columns:
    """Return the columns of what transitions have beside arcs."""
    net, count = numbers.net, len(numbers.net.transitions)
    pool_numbers = {pool: at for at, pool in enumerate(numbers.pools)}
    delays = [transition.delay for transition in net.transitions]
    immediate = np.fromiter((delay is None for delay in delays), np.int64, count)
    first: list[Any] = [0.0 if delay is None else delay for delay in delays]
    second: list[Any] = [0.0] * count
    kind, age = np.zeros((2, count), np.int64)
    servers, plain = np.ones(count, np.int64), 1 - immediate
    pool, load = np.full((2, count), -1)
    tables: dict[int, Sequence[Any]] = {}
    for at in net.special:
        t = net.transitions[at]
        kind[at], first[at], second[at], tables[at] = law(t, exact=exact)
        servers[at] = -1 if t.servers is None else t.servers
        age[at], plain[at] = t.memory == "age", _plain(t)
        pool[at] = -1 if t.speed is None else pool_numbers[t.speed]
        load[at] = -1 if t.load is None else numbers.places[t.load]
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
        k.TABLE_AT: starts(tables, count),
        k.TABLE: [*chain.from_iterable(tables.values())],
    }


def _plain(transition: Transition) -> int:
    """Return 1 where a transition's timer, constant or drawn, is all that it has."""
    timer = transition.delay is not None and not isinstance(transition.delay, Tokens | Given)
    extras = (
        transition.inhibitor or transition.speed or transition.load or transition.memory == "age"
    )
    return int(timer and transition.servers == 1 and not extras)


def starts(lists: Mapping[int, Sized], count: int) -> Whole:
    """Return where each of so many lists begins in all of them together, and where the last ends.

    Those that are not given are empty.
    """
    lengths = np.zeros(count + 1, np.int64)
    for at, values in lists.items():
        lengths[at + 1] = len(values)
    return np.cumsum(lengths)


def burst(net: Net) -> int:
    """Return how many timers one firing may start in transitions with several servers."""
    special = net.specials()
    if all(transition.servers == 1 for transition in special):
        return 0
    takers: dict[str, int] = {}
    for transition in special:
        for place in {**transition.pre, **transition.inhibitor} if transition.servers != 1 else ():
            takers[place] = takers.get(place, 0) + 1
    freed = sum(enabled_at_first(net, transition) for transition in special if transition.inhibitor)
    fed = max(
        sum(tokens * takers.get(place, 0) for place, tokens in transition.post.items())
        for transition in net.transitions
    )
    return 1 + freed + fed


def enabled_at_first(net: Net, transition: Transition) -> int:
    """Return how often a transition is enabled at first, inhibitors left aside."""
    least = [net.initial.get(place, 0) // weight for place, weight in transition.pre.items()]
    degree = min(least, default=1)
    return degree if transition.servers is None else min(degree, transition.servers)


def _queue_and_reader_columns(numbers: Numbers) -> Columns:
    """Return the columns of pools and queues that must be looked at when tokens move."""
    net, places, queues = numbers.net, numbers.places, numbers.queues
    readers: dict[int, list[int]] = defaultdict(list)
    for index, pool in enumerate(numbers.pools):
        for name in names_in(pool.expr):
            readers[places[name]].append(index)
    number = {queue: at for at, queue in enumerate(queues)}
    grants, queue_of = np.full(len(places), -1), np.full(len(net.transitions), -1)
    for queue, at in number.items():
        grants[places[queue]] = at
    for at in net.special:
        queue_of[at] = number.get(net.transitions[at].queue or "", -1)
    return {
        k.READER_AT: starts(readers, len(places)),
        k.READER: [pool for place in sorted(readers) for pool in readers[place]],
        k.QUEUE: queue_of,
        k.RESOURCE: [places[queue] for queue in queues],
        k.GRANTS: grants,
    }


def link_columns(links: Sequence[Link], places: Mapping[str, int], counted: int) -> Columns:
    """Return the columns of links: what is on them, and the other way round.

    Parameters
    ----------
    links
        All of a net.
    places
        The number of each place or load that they name.
    counted
        How many places and loads there are.
    """
    members = {at: [places[name] for name in link.loads] for at, link in enumerate(links)}
    on: dict[int, dict[int, float]] = defaultdict(dict)
    watched: dict[int, list[int]] = defaultdict(list)
    for at, positions in members.items():
        for place, weight in zip(positions, links[at].weights, strict=True):
            on[place][at] = weight
        capacity = (places[name] for name in names_in(links[at].capacity.expr))
        for place in dict.fromkeys((*positions, *capacity)):
            watched[place].append(at)
    return {
        k.MEMBER_AT: starts(members, len(members)),
        k.MEMBER: [*chain.from_iterable(members.values())],
        k.MEMBER_WEIGHT: [*chain.from_iterable(link.weights for link in links)],
        k.ON_AT: starts(on, counted),
        k.ON: [link for place in sorted(on) for link in on[place]],
        k.ON_WEIGHT: [weight for place in sorted(on) for weight in on[place].values()],
        k.WATCHED_AT: starts(watched, counted),
        k.WATCHED: [link for place in sorted(watched) for link in watched[place]],
    }
