"""The arcs of a net as columns: what a firing needs, what it changes, and whom that concerns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter, methodcaller
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast_petri.kernel import layout as k
from parcast_petri.nets.net import Net

Whole = NDArray[np.int64]


@attrs.frozen(eq=False)
class Arcs:
    """Arcs between transitions and places, in the order of the transitions."""

    transition: Whole
    place: Whole
    tokens: Whole

    @classmethod
    def of(cls, by_transition: Sequence[Mapping[str, int]], places: Mapping[str, int]) -> Arcs:
        """Return the arcs of every transition, which each lists from places to tokens."""
        counts = np.fromiter(map(len, by_transition), np.int64, len(by_transition))
        names = map(places.__getitem__, chain.from_iterable(by_transition))
        tokens = chain.from_iterable(map(methodcaller("values"), by_transition))
        return cls(
            np.repeat(np.arange(len(by_transition)), counts),
            np.fromiter(names, np.int64, counts.sum()),
            np.fromiter(tokens, np.int64, counts.sum()),
        )

    def starts(self, transitions: int) -> Whole:
        """Return where the arcs of each transition begin, and where the last ones end."""
        return _starts(self.transition, transitions)

    def only(self, selection: Any) -> Arcs:
        """Return some of them."""
        return Arcs(self.transition[selection], self.place[selection], self.tokens[selection])


def arc_columns(
    net: Net, places: Mapping[str, int], queue: Whole
) -> dict[int, Sequence[Any] | Whole]:
    """Return the kernel's columns of arcs.

    Parameters
    ----------
    net
        The net.
    places
        The index of each place and load.
    queue
        By transition, the place that is granted in order of request; -1: none.
    """
    pre, post, inhibitor = (
        Arcs.of([*map(attrgetter(side), net.transitions)], places)
        for side in ("pre", "post", "inhibitor")
    )
    change = _joined(attrs.evolve(pre, tokens=-pre.tokens), post, len(places))
    readers = _joined(pre, inhibitor, len(places))
    readers = readers.only(readers.place != queue[readers.transition])
    return {
        **_arcs_as_columns(pre, change, readers, len(net.transitions), len(places)),
        k.INHIBITOR_AT: inhibitor.starts(len(net.transitions)),
        k.INHIBITOR_PLACE: inhibitor.place,
        k.INHIBITOR_WEIGHT: inhibitor.tokens,
    }


def _arcs_as_columns(
    pre: Arcs, change: Arcs, readers: Arcs, count: int, places: int
) -> dict[int, Whole]:
    at, touched = _concerned(change, readers, count, places)
    return {
        k.PRE_AT: pre.starts(count),
        k.PRE_PLACE: pre.place,
        k.PRE_WEIGHT: pre.tokens,
        k.CHANGE_AT: change.starts(count),
        k.CHANGE_PLACE: change.place,
        k.CHANGE_BY: change.tokens,
        k.TOUCH_AT: at,
        k.TOUCH: touched,
    }


def _starts(owner: Whole, owners: int) -> Whole:
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=owners))])


def _joined(arcs: Arcs, added: Arcs, places: int) -> Arcs:
    """Return arcs with those that are ``added`` behind, summed up by place and without zeros."""
    if not len(added.place):
        return arcs
    transition = np.concatenate([arcs.transition, added.transition])
    order = np.argsort(transition, kind="stable")
    key = (transition * places + np.concatenate([arcs.place, added.place]))[order]
    tokens = np.concatenate([arcs.tokens, added.tokens])[order]
    unique, first, which = np.unique(key, return_index=True, return_inverse=True)
    total = np.zeros(len(unique), np.int64)
    np.add.at(total, which, tokens)
    in_order = np.argsort(first)
    in_order = in_order[total[in_order] != 0]
    return Arcs(unique[in_order] // places, unique[in_order] % places, total[in_order])


def _concerned(change: Arcs, readers: Arcs, transitions: int, places: int) -> tuple[Whole, Whole]:
    """Return of each transition those that its firing may enable or disable, itself included."""
    by_place = np.argsort(readers.place, kind="stable")
    begin = _starts(readers.place, places)
    counts = np.diff(begin)[change.place]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    reader = readers.transition[by_place][np.repeat(begin[change.place], counts) + within]
    everyone = np.arange(transitions)
    keys = [np.repeat(change.transition, counts) * transitions + reader]
    pairs = np.unique(np.concatenate([*keys, everyone * transitions + everyone]))
    return _starts(pairs // transitions, transitions), pairs % transitions
