"""What the steps keep: arrays over flows, over links, and over the places of flows on links."""

from __future__ import annotations

from typing import Any, NamedTuple

#: No flow, link or place.
NONE = -1

#: What bounds a flow that runs at its cap, in place of a link.
AT_CAP = -1

#: Entries of ``counters``: flows in the heap of ends, links touched and flows started since the
#: last settling, flows and links of the region, marks handed out; and the bits of a place that
#: are the hop.
ENDS, TOUCHED, STARTED, FLOWS, LINKS, MARK, SHIFT = range(7)

#: Rates that differ by less than this, relatively, are the same: sums of the same numbers in
#: another order differ in their last bits.
SAME = 2.0**-46

#: Rounds in which a region grows where it must; then it takes all flows that share links with it.
ROUNDS = 16


class Links(NamedTuple):
    """Arrays over links."""

    capacity: Any  #: bytes a second
    limits: Any  #: whether messages share it and it is finite, so that it can be full
    caps: Any  #: the sum of what its flows take of it at most
    count: Any  #: its flows
    first: Any  #: the first place of its list of flows
    tight: Any  #: whether its flows could fill it, as of the last settling
    touched: Any  #: whether it is in ``touched`` of `State`
    left: Any  #: while a region is filled: what is left for the flows that have no rate yet
    growing: Any  #: and how many these are
    weight: Any  #: and what they take of it together for each byte of their own
    fixed: Any  #: and how many are not of the region
    least: Any  #: what the flows of the region take at most, the least of these
    fastest: Any  #: the largest rate that one of these was given
    level: Any  #: the rate that it left its last flows, NaN where it is not full
    mark: Any  #: the last region it was part of


class Flows(NamedTuple):
    """Arrays over flows; bytes are counted over the share of each."""

    hops: Any  #: how many of its links limit it
    cap: Any  #: what it takes at most, bytes a second: the least of its cap and its links
    remaining: Any  #: bytes, as of ``since``
    since: Any  #: when its rate was set
    rate: Any  #: bytes a second
    end: Any  #: when it ends at this rate
    bound: Any  #: the link that bounds its rate, or `AT_CAP`
    place: Any  #: in the heap of ends, or `NONE`
    fair: Any  #: its rate in the region; negative while it has none
    mark: Any  #: the last region it was part of
    fresh: Any  #: whether it has had no rate yet


class State(NamedTuple):
    """All of it. A place is the number of a flow, and in the lowest bits that of the hop."""

    link: Links
    flow: Flows
    route: Any  #: the link of each place
    weight: Any  #: bytes on that link for each byte of the flow
    after: Any  #: the next place on the same link
    before: Any  #: the place before
    ends: Any  #: heap of flows, the first to end at the top
    touched: Any  #: links whose flows have changed since the last settling
    started: Any  #: flows that have started since
    region: Any  #: the flows whose rates are computed anew
    frontier: Any  #: the links of these that can be full
    keys: Any  #: heap of links: what each leaves each flow
    heap: Any  #: and the links
    counters: Any
