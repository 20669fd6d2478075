"""How much longer each rank computes than the others, before the same call of the same round.

All ranks leave a collective together, so that its end says nothing of who was late; what tells is
what each rank computed itself before it, which needs no common clock.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parcast_traces.gaps import first_events, gaps_of
from parcast_traces.trace.calls import ALL, EXSCAN, NONBLOCKING
from parcast_traces.trace.columns import KIND, OUT, SITE, Floats, Ints, Trace

#: Values of a level, and how far levels are apart in standard deviations within them.
_FEWEST, _APART = 3, 6.0


def excess_of(trace: Trace, *, others: bool = True) -> Floats:
    """Return how much longer each gap is than the median of the other ranks' like it.

    Negative where it is shorter, 0 before a rank's first event, where a clock began. Like it are,
    where all ranks come to the same two calls equally often, the gaps of the same turn; what else
    a rank computes between two collectives of all is compared as a sum. Without such collectives
    the sum is over the run; or, where ranks come to the same two calls unequally often, as tasks
    are dealt, each is compared by its mean between them. Of an even number the median is the lower
    one of both in the middle, which one slow rank of few does not move.

    Parameters
    ----------
    trace
        What ran.
    others
        Whether the median is of the other ranks; else it is of all.
    """
    gaps = gaps_of(trace)
    if not trace.modeled:
        gaps[first_events(trace)] = 0.0
    if trace.size < 2 or not trace.count:
        return np.zeros(len(gaps))
    beyond = _beyond_others if others else _beyond_median
    ranks = np.repeat(np.arange(trace.size), np.diff(trace.events.offsets))
    pair = _pairs(trace)
    excess, compared = _in_turn(gaps, ranks, pair, trace.size, beyond)
    unlike = np.flatnonzero(~compared)
    if not unlike.size:
        return excess
    rounds = _rounds(trace)
    if rounds is not None:
        where = (gaps[unlike], ranks[unlike], rounds[unlike])
        excess[unlike] = _by_round(*where, trace.size, beyond)
        return excess
    regular = _regular(ranks[unlike], pair[unlike], trace.size)
    roles, tasks = unlike[regular], unlike[~regular]
    excess[roles] = _by_role(gaps[roles], ranks[roles], beyond)
    excess[tasks] = _by_mean(gaps[tasks], ranks[tasks], pair[tasks], trace.size)
    return excess


def beyond_noise(trace: Trace, excess: Floats, rank: int) -> float | None:
    """Return the excess of a rank in standard deviations of what noise makes of the others' sums.

    None without two rounds between collectives of all ranks, which are taken as independent.
    """
    rounds = _rounds(trace)
    if rounds is None or trace.size < 2 or rounds.max() < 2:
        return None
    ranks = np.repeat(np.arange(trace.size), np.diff(trace.events.offsets))
    cells = rounds * trace.size + ranks
    sums = np.bincount(cells, excess, minlength=(rounds.max() + 1) * trace.size)
    table = sums.reshape(-1, trace.size)
    others = np.delete(table, rank, axis=1)
    noise = float(np.sqrt(others.var(axis=0, ddof=1).mean() * len(table)))
    total = float(table[:, rank].sum())
    return total / noise if noise > 1e-12 * abs(total) else np.inf


def delayed(excess: Floats) -> Ints:
    """Return which excesses are of delays: the higher of two levels, nothing if there are none.

    Both levels are those with the least variance within (Otsu), and further apart than chance
    makes those of one: six standard deviations, where those of a normal law are 2.6 apart, and
    of an exponential one 3 to 5.
    """
    order = np.argsort(excess, kind="stable")
    ordered = excess[order]
    count = len(ordered)
    if count < 2 * _FEWEST:
        return np.zeros(0, np.int64)
    low = np.arange(1, count)  # how many the lower level has
    sums = np.cumsum(ordered)[:-1]
    apart = (sums[-1] + ordered[-1] - sums) / (count - low) - sums / low
    split = int(np.argmax(low * (count - low) * apart**2)) + 1
    lower, higher = ordered[:split], ordered[split:]
    if min(len(lower), len(higher)) < _FEWEST:
        return np.zeros(0, np.int64)
    within = np.sqrt((lower.var() * len(lower) + higher.var() * len(higher)) / count)
    rows: Ints = order[split:] if apart[split - 1] > _APART * within else order[:0]
    return rows


def _pairs(trace: Trace) -> Ints:
    """Return a number for the two calls that each gap is between."""
    sites = trace.events.whole[:, SITE].astype(np.int64)
    pairs = np.concatenate([[0], sites[:-1] * len(trace.sites)]) + sites
    pairs[first_events(trace)] = -1
    _, pair = np.unique(pairs, return_inverse=True)
    return pair.reshape(-1)


def _in_turn(
    gaps: Floats, ranks: Ints, pair: Ints, size: int, beyond: Callable[[Floats], Floats]
) -> tuple[Floats, Ints]:
    """Return the excess of gaps that all ranks have equally many of, and which these are."""
    counts = np.bincount(pair * size + ranks, minlength=(pair.max() + 1) * size)
    counts = counts.reshape(-1, size)
    alike = (counts == counts[:, :1]).all(axis=1)
    rows = np.flatnonzero(alike[pair])
    order = rows[np.lexsort((rows, ranks[rows], pair[rows]))]  # by pair, rank and turn
    excess = np.zeros(len(gaps))
    begins = np.cumsum(counts[alike, 0] * size) - counts[alike, 0] * size
    turns = np.arange(len(order)) - np.repeat(begins, counts[alike, 0] * size)
    turns %= np.repeat(counts[alike, 0], counts[alike, 0] * size)
    table = order[np.lexsort((ranks[order], turns, pair[order]))].reshape(-1, size)
    excess[table] = beyond(gaps[table])
    return excess, alike[pair]


def _beyond_others(table: Floats) -> Floats:
    """Return each number less the lower median of the other columns of its row."""
    size = table.shape[1]
    order = np.argsort(table, axis=1, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(size)[None, :], axis=1)
    ordered = np.take_along_axis(table, order, axis=1)
    middle = (size - 2) // 2  # of the others
    beyond: Floats = table - np.take_along_axis(ordered, middle + (place <= middle), axis=1)
    return beyond


def _beyond_median(table: Floats) -> Floats:
    """Return each number less the lower median of its row."""
    middle = (table.shape[1] - 1) // 2
    beyond: Floats = table - np.partition(table, middle, axis=1)[:, middle : middle + 1]
    return beyond


def _rounds(trace: Trace) -> Ints | None:
    """Return how many collectives of all ranks come before each event; None if there are none."""
    whole = trace.events.whole
    everybody = [len(members) == trace.size for members in trace.communicators]
    collective = (whole[:, KIND] >= ALL) & (whole[:, KIND] <= EXSCAN + NONBLOCKING)
    meets = np.zeros(len(whole), np.int64)
    rows = np.flatnonzero(collective)
    meets[rows] = np.array(everybody)[whole[rows, OUT]]
    if not meets.any():
        return None
    before = np.cumsum(meets) - meets
    firsts = trace.events.offsets[:-1]
    starts = np.append(before, meets.sum())[firsts]
    rounds: Ints = before - np.repeat(starts, np.diff(trace.events.offsets))
    return rounds


def _by_round(
    gaps: Floats, ranks: Ints, rounds: Ints, size: int, beyond: Callable[[Floats], Floats]
) -> Floats:
    """Return the excess of sums between two collectives, shared out by the length of gaps."""
    cells = rounds * size + ranks
    sums: Floats = np.bincount(cells, gaps, minlength=(rounds.max() + 1) * size).astype(np.float64)
    sums = sums.reshape(-1, size)
    part = np.divide(beyond(sums), sums, out=np.zeros_like(sums), where=sums > 0)
    excess: Floats = gaps * part.ravel()[cells]
    return excess


def _regular(ranks: Ints, pair: Ints, size: int) -> Ints:
    """Return for each gap whether all ranks that come to these two calls do so equally often."""
    counts = np.bincount(pair * size + ranks, minlength=(pair.max() + 1) * size).reshape(-1, size)
    most = counts.max(axis=1)
    alike: Ints = ((counts == 0) | (counts == most[:, None])).all(axis=1)[pair]
    return alike


def _by_role(gaps: Floats, ranks: Ints, beyond: Callable[[Floats], Floats]) -> Floats:
    """Return the excess of sums over the run, among the ranks that have any, shared out."""
    _, which = np.unique(ranks, return_inverse=True)
    which = which.reshape(-1)
    size = int(which.max(initial=-1)) + 1
    if size < 2:
        return np.zeros(len(gaps))
    return _by_round(gaps, which, np.zeros(len(gaps), np.int64), size, beyond)


def _by_mean(gaps: Floats, ranks: Ints, pair: Ints, size: int) -> Floats:
    """Return the excess of gaps, each of its rank's mean over the median rank's."""
    groups, group = np.unique(pair * size + ranks, return_inverse=True)
    group = group.reshape(-1)
    mean = np.bincount(group, gaps) / np.bincount(group)
    usual = _medians(groups // size, mean)
    longer = np.divide(mean - usual, mean, out=np.zeros_like(mean), where=mean > 0)
    excess: Floats = gaps * longer[group]
    return excess


def _medians(pair: Ints, mean: Floats) -> Floats:
    """Return for each rank's mean the median of all ranks between the same two calls."""
    order = np.lexsort((mean, pair))
    begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
    counts = np.diff(begins, append=len(order))
    low, high = begins + (counts - 1) // 2, begins + counts // 2
    median = (mean[order][low] + mean[order][high]) / 2
    medians = np.empty(len(mean))
    medians[order] = np.repeat(median, counts)
    return medians
