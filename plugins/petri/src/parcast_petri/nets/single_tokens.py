"""Nets in columns whose places pass single tokens, each from one transition to one other.

They are what programs are made of, and are given to the kernel without an object for each place and
transition.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.quantities import names_in
from parcast_petri.kernel import layout as k
from parcast_petri.nets.arcs import Whole
from parcast_petri.nets.arrays import Arrays, Column, Constant, Form
from parcast_petri.nets.columns import link_columns, starts
from parcast_petri.nets.delays import code
from parcast_petri.nets.net import Link, Net, Tokens


@attrs.frozen(eq=False)
class SingleArcs:
    """Arcs of one token each between transitions and places, in the order of the transitions."""

    transition: Whole
    place: Whole

    def starts(self, transitions: int) -> Whole:
        """Return where the arcs of each transition begin, and where the last ones end."""
        return _starts(self.transition, transitions)


@attrs.frozen(eq=False, kw_only=True)
class SingleTokens:
    """A net whose places have one transition that takes from them, and hold one token at most.

    All transitions have one server. ``load`` and ``speed`` are -1 where a transition has none.
    """

    places: int
    pre: SingleArcs
    post: SingleArcs
    delay: NDArray[np.float64]  #: by transition; not a number: it is immediate
    load: Whole  #: by transition, which of ``loads`` counts it
    speed: Whole  #: by transition, which of ``speeds`` it has
    loads: tuple[str, ...]
    speeds: tuple[Tokens, ...]
    links: tuple[Link, ...]
    marked: Whole  #: the places that have a token at first
    net: Net  #: one without names, which says how much later is still of one instant

    def __len__(self) -> int:
        return len(self.delay)

    def arrays(self, form: Form, until: tuple[int, int]) -> Arrays:
        """Return the net as the kernel reads it; ``until`` as `kernel_arrays` takes it."""
        count, numbers = len(self), {name: self.places + at for at, name in enumerate(self.loads)}
        options = dict.fromkeys((k.SEQUENTIAL, k.RANDOM, k.BURST), 0)
        options |= {k.BOUND: 1 << 40, k.STOP_PLACE: until[0], k.STOP_TOKENS: until[1]}
        columns = self._columns(numbers)
        ordinary = not np.isnan(self.delay).any() and not self.speeds and not self.loads
        options |= {k.LINKS: len(self.links), k.ORDINARY: int(ordinary)}
        marking = np.zeros(self.places + len(self.loads), np.int64)
        marking[self.marked] = 1
        rates = [*self.speeds, *(link.capacity for link in self.links)]
        members = np.bincount(self.speed[self.speed >= 0], minlength=len(self.speeds))
        return Arrays(
            net=self.net,
            form=form,
            options=options,
            columns=columns,
            tie=np.arange(count),
            depth=max((len(code(rate, numbers)) for rate in rates), default=0),
            marking=marking,
            pools=members.tolist(),
            queues=(),
        )

    def _columns(self, numbers: Mapping[str, int]) -> dict[int, Column]:
        """Return the columns that a run does not change; those that none writes are of one number.

        With one server and no law or queue, a run never looks for a second timer of a transition,
        for work that was kept, or for a marking that comes back.
        """
        count, counted = len(self), self.places + len(self.loads)
        immediate = np.isnan(self.delay)
        columns: dict[int, Column] = {
            **_arc_columns(self.pre, self.post, count, self.places),
            k.INHIBITOR_PLACE: (),
            k.INHIBITOR_WEIGHT: (),
            k.RESOURCE: (),
            k.TABLE: (),
            k.PLAIN: (~immediate & (self.speed < 0) & (self.load < 0)).astype(np.int8),
            k.IMMEDIATES: immediate.astype(np.int8),
            k.DELAY: np.where(immediate, 0.0, self.delay),
            **self._pool_columns(numbers, counted),
        }
        ones, zeros = (k.PRE_WEIGHT, k.SERVERS), (k.INHIBITOR_AT, k.TABLE_AT, k.KIND, k.AGE)
        columns |= {at: Constant(1, len(self.pre.place) + count) for at in ones}
        columns |= {at: Constant(0, count + 1) for at in (*zeros, k.PENDING, k.SECOND)}
        minus_ones = (k.QUEUE, k.HEAD, k.OLDER, k.YOUNGER, k.LEFT)
        columns |= {at: Constant(-1, count + 1) for at in minus_ones}
        columns[k.GRANTS] = Constant(-1, counted)
        columns[k.PENDING_LIST] = columns[k.FREE] = Constant(0, 0)
        return columns | {k.SAVED: Constant(0, counted)}

    def _pool_columns(self, numbers: Mapping[str, int], counted: int) -> dict[int, Column]:
        """Return the columns of what drains at speeds that depend on the marking."""
        count = len(self)
        readers: dict[int, list[int]] = {}
        for index, speed in enumerate(self.speeds):
            for name in names_in(speed.expr):
                readers.setdefault(numbers[name], []).append(index)
        rates = [*self.speeds, *(link.capacity for link in self.links)]
        codes = {at: code(rate, numbers) for at, rate in enumerate(rates, count)}
        operations = [operation for listed in codes.values() for operation in listed]
        columns: dict[int, Column] = {
            k.READER: [pool for place in sorted(readers) for pool in readers[place]],
            k.CODE: [operation for operation, _ in operations],
            k.OPERAND: [*(operand for _, operand in operations), 0],
        }
        if rates:
            columns |= {
                **link_columns(self.links, numbers, counted),
                k.READER_AT: starts(readers, counted),
                k.CODE_AT: starts(codes, count + len(rates)),
                k.POOL: self.speed,
                k.LOAD: np.where(self.load < 0, -1, self.load + self.places),
            }
        else:
            links = (k.MEMBER, k.MEMBER_WEIGHT, k.ON, k.ON_WEIGHT, k.WATCHED)
            columns |= dict.fromkeys(links, ()) | {k.MEMBER_AT: Constant(0, 1)}
            columns |= {at: Constant(0, counted + 1) for at in (k.READER_AT, k.ON_AT, k.WATCHED_AT)}
            columns |= {at: Constant(-1, count) for at in (k.POOL, k.LOAD)}
            columns |= {k.CODE_AT: Constant(0, count + 1), k.DEGREE: Constant(0, count)}
            columns |= {at: Constant(0, counted) for at in (k.RATE, k.RATE_BEFORE)}
        return columns


def _arc_columns(
    pre: SingleArcs, post: SingleArcs, transitions: int, places: int
) -> dict[int, Whole]:
    """Return the kernel's columns of arcs; none is from a place and to it."""
    count = len(pre.transition) + len(post.transition)
    starts_of_post = post.starts(transitions)
    at = np.arange(len(pre.transition)) + starts_of_post[pre.transition]
    place, by = np.empty(count, np.int32), np.ones(count, np.int8)
    place[at], by[at] = pre.place, -1
    added = np.ones(count, bool)
    added[at] = False
    place[added] = post.place
    touched_at, touched = _followers(pre, post, transitions, places)
    return {
        k.PRE_AT: pre.starts(transitions),
        k.PRE_PLACE: pre.place,
        k.CHANGE_AT: pre.starts(transitions) + starts_of_post,
        k.CHANGE_PLACE: place,
        k.CHANGE_BY: by,
        k.TOUCH_AT: touched_at,
        k.TOUCH: touched,
    }


def _followers(
    pre: SingleArcs, post: SingleArcs, transitions: int, places: int
) -> tuple[Whole, Whole]:
    """Return of each transition itself and those that take what it gives, rising."""
    taker = np.full(places, -1, np.int32)
    taker[pre.place] = pre.transition
    follower = taker[post.place]
    followed = follower >= 0
    everyone = np.arange(transitions)
    first = np.concatenate([everyone, post.transition[followed]])
    pairs = np.concatenate([everyone, follower[followed]]) + first * transitions
    pairs.sort(kind="stable")
    pairs = pairs[np.append(True, np.diff(pairs) > 0)]
    return _starts(pairs // transitions, transitions), (pairs % transitions).astype(np.int32)


def _starts(rising: Whole, count: int) -> Whole:
    """Return where each of so many numbers begins among rising ones, and where the last ends."""
    starts: Whole = np.searchsorted(rising, np.arange(count + 1, dtype=rising.dtype))
    return starts
