"""Where the transitions of a program's parts stand, and the places between them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast.program.matching import CODE
from parcast_petri.nets.arcs import Whole
from parcast_petri.programs.operation_parts import (
    CARRY,
    LEAVE,
    MEET,
    POST,
    SENT,
    START,
    STEPS,
    TAKE,
    TAKEN,
    Flags,
    Parts,
)


@attrs.frozen(eq=False)
class Places:
    """Where the transitions of each part stand, and the places between them.

    Of each transition the place behind it has its number; the others follow.
    """

    parts: Parts
    at: Sequence[Whole]  #: by part, its transitions in the order of the operations
    ends: Whole  #: by rank, the transition that ends it
    steps: Whole  #: all that processes take part in, rising
    first: Whole  #: by rank, its first transition
    transitions: int
    end: int  #: the place that every process ends in

    @classmethod
    def of(cls, parts: Parts) -> Places:
        """Return where all transitions stand: rank by rank, operation by operation."""
        offsets = parts.program.columns.offsets
        counts = np.zeros(len(parts.ranks), np.int64)
        for has in parts.has:
            counts += has
        after = np.concatenate([[0], np.cumsum(counts)])
        position = after[:-1] + parts.ranks
        at = []
        for has in parts.has:
            at.append(position[has])
            position += has
        everyone = np.arange(len(offsets) - 1)
        ends = after[offsets[1:]] + everyone
        steps = np.sort(np.concatenate([*(at[part] for part in STEPS), ends]))
        first, transitions = after[offsets[:-1]] + everyone, int(ends[-1]) + 1
        return cls(parts, at, ends, steps, first, transitions, transitions)

    @property
    def count(self) -> int:
        """How many places there are."""
        return int(self._numbers()[-1])

    def _numbers(self) -> Whole:
        """Return where starts of processes, ready, posted and sent messages begin, and end."""
        has = self.parts.has
        counts = [len(self.ends), has[CARRY].sum(), has[MEET].sum(), self.parts.waits.sum()]
        return np.cumsum([self.transitions + 1, *counts])

    def before(self, transitions: Whole, ranks: Whole) -> tuple[Whole, Whole]:
        """Return the last step of the process before each, -1: none, and the place behind it."""
        index = np.searchsorted(self.steps, transitions) - 1
        step = np.where(index >= 0, self.steps[np.maximum(index, 0)], -1)
        step = np.where(step >= self.first[ranks], step, -1)
        return step, np.where(step >= 0, step, self._numbers()[0] + ranks)

    def place(self, kind: int, having: Flags, ids: Whole) -> Whole:
        """Return places of operations; ``having`` are those that have such a place."""
        number: Whole = self._numbers()[kind] + (np.cumsum(having) - 1)[ids]
        return number

    def ready(self, ids: Whole) -> Whole:
        """Return the places of sends where messages are ready to leave."""
        return self.place(1, self.parts.has[CARRY], ids)

    def posted(self, ids: Whole) -> Whole:
        """Return the places of sends that receives are posted in."""
        return self.place(2, self.parts.has[MEET], ids)

    def sent(self, ids: Whole) -> Whole:
        """Return the places of sends that await their end."""
        return self.place(3, self.parts.waits, ids)

    def of_part(self, part: int, ids: Whole) -> Whole:
        """Return the transition of a part of these operations, which have it."""
        index: Whole = np.searchsorted(np.flatnonzero(self.parts.has[part]), ids)
        return self.at[part][index]

    def inputs(self) -> list[tuple[Whole, Whole]]:
        """Return the arcs from places to transitions."""
        has, parts, program = self.parts.has, self.parts, self.parts.program
        ids = [np.flatnonzero(flags) for flags in has]
        arcs = [
            (self.at[part], self.before(self.at[part], parts.ranks[ids[part]])[1]) for part in STEPS
        ]
        arcs.append((self.ends, self.before(self.ends, np.arange(len(self.ends)))[1]))
        arcs += [(self.at[MEET], self.ready(ids[MEET])), (self.at[MEET], self.posted(ids[MEET]))]
        origin = self.ready(ids[CARRY])
        meets, starts = has[MEET][ids[CARRY]], has[START][ids[CARRY]]
        origin[meets] = self.at[MEET]
        arcs.append((self.at[START], origin[starts]))
        origin[starts] = self.at[START]
        arcs.append((self.at[CARRY], origin))
        arcs.append((self.at[SENT], self.sent(ids[SENT])))
        source, op = program.matching.received_from, program.columns.op
        arcs.append((self.at[TAKEN], self.of_part(CARRY, source[ids[TAKEN]])))
        received = ids[TAKE][op[ids[TAKE]] == CODE["recv"]]
        arcs.append((self.of_part(TAKE, received), self.of_part(CARRY, source[received])))
        exchanged = self.of_part(TAKE, ids[TAKEN])
        arcs.append((exchanged, self.at[TAKEN]))
        waiting = parts.waits[ids[TAKEN]]
        arcs.append((exchanged[waiting], self.sent(ids[TAKEN][waiting])))
        wait, request, arrives, leaves = parts.requests()
        arcs.append(
            (self.of_part(TAKE, wait[arrives]), self.of_part(CARRY, source[request[arrives]]))
        )
        arcs.append((self.of_part(TAKE, wait[leaves]), self.sent(request[leaves])))
        return arcs

    def outputs(self) -> list[tuple[Whole, Whole]]:
        """Return the arcs from transitions to places."""
        has, parts = self.parts.has, self.parts
        arcs = [(at, at) for at in self.at]
        arcs.append((self.ends, np.full(len(self.ends), self.end)))
        leaves = np.flatnonzero(has[LEAVE])
        arcs.append((self.at[LEAVE], self.ready(leaves)))
        giver, ready = self._given()
        arcs.append((giver[giver >= 0], ready[giver >= 0]))
        waits = np.flatnonzero(parts.waits)
        arcs.append((self.of_part(CARRY, waits), self.sent(waits)))
        posts = np.flatnonzero(has[POST])
        arcs.append((self.at[POST], self.posted(parts.program.matching.received_from[posts])))
        return arcs

    def _given(self) -> tuple[Whole, Whole]:
        """Return who makes messages ready whose sending takes no time, -1: the outset."""
        sends = np.flatnonzero(self.parts.has[CARRY] & ~self.parts.has[LEAVE])
        step, _ = self.before(self.of_part(CARRY, sends), self.parts.ranks[sends])
        return step, self.ready(sends)

    def marked(self) -> Whole:
        """Return the places that have a token at first."""
        giver, ready = self._given()
        starts = self._numbers()[0] + np.arange(len(self.ends))
        return np.concatenate([starts, ready[giver < 0]])
