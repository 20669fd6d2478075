"""Means of a network whose states are too many: a walk through them, as chance has it.

The walk is of the same chain that `solve_states` solves, so no other assumption comes in. How far
its means may be off follows from stretches of it, of as many events each.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import attrs

from parcast_spmd.states.contents import State
from parcast_spmd.states.model import StatesError, StatesModel
from parcast_spmd.states.moves import MOST_STEPS, Moves, Outcome
from parcast_spmd.states.overload import check_load
from parcast_spmd.states.steps import Mark

#: Stretches that means are of at the end, at first of so many events, at last of so many.
_STRETCHES, _FIRST_LENGTH, _LAST_LENGTH = 20, 250, 16_000
#: The share of the first stretches that the walk takes to forget how it began.
_FORGETTING = 0.25
#: Half an interval of 95 %, of 19 degrees of freedom, in standard errors.
_REACH = 2.093
#: Relative half intervals that suffice, and that are too wide to answer.
_SUFFICES, _TOO_WIDE = 0.01, 0.25
#: How much longer a walk goes on for means that are too wide, where it was asked for.
_PATIENCE = 8
#: What is less than this share of the largest of its kind is not waited for.
_SMALL = 0.02
#: Correlation of stretches that follow each other; more is taken for so much.
_MOST_ALIKE = 0.8
#: States whose events are remembered.
_MOST_KNOWN = 100_000

#: A mark, or a node and a class, or ``inside`` and a class: what is summed in a stretch.
Sums = defaultdict[Any, float]


@attrs.frozen(eq=False)
class Walked:
    """Means by what they are of, and half their 95 % intervals."""

    means: Mapping[Any, float]
    reach: Mapping[Any, float]
    events: int

    def widest(self) -> tuple[Any, float]:
        """Return the largest relative half interval, and what it is of; small means aside."""
        largest: dict[bool, float] = {}
        for name, mean in self.means.items():
            kind = _is_rate(name)
            largest[kind] = max(largest.get(kind, 0.0), mean)
        shares = {
            name: self.reach[name] / mean
            for name, mean in self.means.items()
            if mean > _SMALL * largest[_is_rate(name)]
        }
        name = max(shares, key=lambda name: shares[name])
        return name, shares[name]


@attrs.frozen(eq=False)
class _Known:
    """What may happen in a state."""

    up_to: list[float]  #: rates, each with those before
    after: list[Outcome]
    time: float  #: the mean time that it lasts, of which a draw would say nothing more
    contents: list[tuple[Any, float]]  #: what is where, and how many jobs there are times how long


def walk(model: StatesModel, seed: int = 0, *, patient: bool = False) -> Walked:
    """Return means of a long walk, as many events as precise means take.

    Parameters
    ----------
    model, seed
        The network, and of what is drawn.
    patient
        Whether it goes on for longer where means are too wide to answer.

    Raises
    ------
    StatesError
        If it comes to a standstill, its jobs only grow in number, or it does not settle.
    """
    check_load(model)
    chain = _Chain(model, Random(seed))  # noqa: S311  (a simulation)
    length = _FIRST_LENGTH
    stretches = [chain.stretch(length) for _ in range(round(_STRETCHES * (2 + 2 * _FORGETTING)))]
    stretches = stretches[-2 * _STRETCHES :]
    while True:
        stretches = [_added(*pair) for pair in zip(stretches[::2], stretches[1::2], strict=True)]
        length *= 2
        walked = _summed(stretches, length)
        name, share = walked.widest()
        factor = _PATIENCE if patient and share > _TOO_WIDE else 1
        long = length >= factor * _LAST_LENGTH or chain.moves.steps_done > factor * MOST_STEPS
        if share <= _SUFFICES or long:
            break
        stretches += [chain.stretch(length) for _ in range(_STRETCHES)]
    if share > _TOO_WIDE:
        raise StatesError(
            f"a simulation of {walked.events:,} events does not settle: the interval of "
            f"{named(model, name)} is {share:.0%} of its mean to either side; it may have no "
            "steady state, or go on for long without a rare event"
            + (
                ""
                if patient
                else f"; --method simulated goes on for up to {_PATIENCE} times as long"
            )
        )
    return walked


class _Chain:
    """A walk, and where it is."""

    def __init__(self, model: StatesModel, random: Random) -> None:
        self.moves, self.random = Moves(model, sys.maxsize, sys.maxsize), random
        self.known: dict[State, _Known] = {}
        outcomes = self.moves.initial()
        weights = [probability for probability, _, _ in outcomes]
        self.state = random.choices(outcomes, weights)[0][1]

    def stretch(self, length: int) -> Sums:
        """Return the sums of so many events: marks, and what is where times how long."""
        sums: Sums = defaultdict(float)
        known_of, random, state, whole = self.known.get, self.random.random, self.state, 0.0
        for _ in range(length):
            known = known_of(state) or self._learnt(state)
            whole += known.time
            for name, seconds in known.contents:
                sums[name] += seconds
            up_to = known.up_to
            at = bisect_right(up_to, random() * up_to[-1], 0, len(up_to) - 1)
            _, state, marks = known.after[at]
            for mark in marks:
                sums[mark] += 1
        self.state, sums["time"] = state, whole
        return sums

    def _learnt(self, state: State) -> _Known:
        events = list(self.moves.events(state))
        rates = [rate * p for rate, outcomes in events for p, _, _ in outcomes]
        if not any(rates):
            raise StatesError("it comes to a standstill, in which nothing happens")
        if len(self.known) >= _MOST_KNOWN:
            self.known.clear()
        contents = Counter[Any]()
        for k, job, count in self.moves.contents.all_of(state):
            contents[k, job[0]] += count
        for r, count in self.moves.contents.jobs(state).items():
            contents["inside", r] += count
        after = [outcome for _, outcomes in events for outcome in outcomes]
        up_to = list(accumulate(rates))
        time = 1 / up_to[-1]
        held = [(name, time * count) for name, count in contents.items()]
        self.known[state] = _Known(up_to, after, time, held)
        return self.known[state]


def _added(first: Sums, second: Sums) -> Sums:
    """Return the sums of two stretches."""
    both = defaultdict(float, first)
    for name, value in second.items():
        both[name] += value
    return both


def _summed(stretches: list[Sums], length: int) -> Walked:
    """Return means of all stretches, and by how much these differ by chance."""
    names = {name: None for sums in stretches for name in sums if name != "time"}
    whole, means, reach = sum(sums["time"] for sums in stretches), dict[Any, float](), {}
    for name in names:
        means[name] = mean = sum(sums[name] for sums in stretches) / whole
        apart = [sums[name] - mean * sums["time"] for sums in stretches]
        reach[name] = _REACH * _deviation(apart) * len(stretches) / whole
    return Walked(means, reach, len(stretches) * length)


def _deviation(apart: list[float]) -> float:
    """Return the standard error of the mean of stretches, the next of which may be alike."""
    count, squares = len(apart), sum(value * value for value in apart)
    if not squares:
        return 0.0
    alike = sum(a * b for a, b in pairwise(apart)) / squares
    alike = min(max(alike, 0.0), _MOST_ALIKE)
    return math.sqrt(squares / (count - 1) / count * (1 + alike) / (1 - alike))


def marks_of(walked: Walked) -> Iterator[tuple[Mark, float]]:
    """Yield how often a second each mark was passed."""
    yield from ((name, mean) for name, mean in walked.means.items() if _is_rate(name))


def _is_rate(name: Any) -> bool:
    return len(name) == 3


def named(model: StatesModel, name: Any) -> str:
    """Return a mean as a message names it."""
    if name[0] == "fired":
        return f"the firings of {model.modes[name[1]].name!r}"
    if name[0] == "inside":
        return f"the number of {model.classes[name[1]]!r}"
    k, r = name[-2:]
    what = "the number" if not _is_rate(name) else "the rate"
    place = model.nodes[k].name if k >= 0 else "regions"
    return f"{what} of {model.classes[r]!r} at {place!r}"
