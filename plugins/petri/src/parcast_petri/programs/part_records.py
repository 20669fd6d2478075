"""Which moments of a program's parts bound what each process does."""

from __future__ import annotations

import numpy as np

from parcast.program.matching import CODE
from parcast_petri.nets.arcs import Whole
from parcast_petri.programs.accounting import Records
from parcast_petri.programs.operation_parts import (
    CALL,
    CARRY,
    LEAVE,
    MEET,
    SENT,
    TAKE,
    TAKEN,
    WORK,
    Parts,
)
from parcast_petri.programs.part_places import Places


def records_of(parts: Parts, places: Places) -> Records:
    """Return which moments bound what each process does."""
    has, ranks, program = parts.has, parts.ranks, parts.program
    records = Records()
    everyone = np.arange(len(places.ends))
    records.ends = places.before(places.ends, everyone)[0].tolist()
    started = np.flatnonzero(program.columns.op == CODE["start"])
    if len(started):
        following = _next_transition(places, started)
        records.starts = places.before(following, ranks[started])[0].tolist()
    busy = []
    for part, code in (WORK, 0), (LEAVE, 1), (CALL, 1):
        at, rank = places.at[part], ranks[has[part]]
        busy.append((rank, np.full(len(at), code), places.before(at, rank)[0], at))
    columns = [np.concatenate(column) for column in zip(*busy, strict=True)]
    order = np.argsort(columns[-1])
    records.busy_columns = tuple(column[order] for column in columns)
    records.wait_columns = _waits(parts, places)
    return records


def _next_transition(places: Places, ids: Whole) -> Whole:
    """Return the transition that an operation without any would have."""
    counts = np.zeros(len(places.parts.ranks), np.int64)
    for has in places.parts.has:
        counts += has
    before: Whole = (np.cumsum(counts) - counts)[ids] + places.parts.ranks[ids]
    return before


def _waits(parts: Parts, places: Places) -> tuple[Whole, ...]:
    """Return all waits, as `Records.wait_columns` has them."""
    has, ranks = parts.has, parts.ranks
    source, op = parts.program.matching.received_from, parts.program.columns.op
    sends = np.flatnonzero(has[CARRY])
    arrival, flight = np.full((2, len(op)), -1)
    arrival[sends] = places.at[CARRY]
    flight[sends] = places.before(places.at[CARRY], ranks[sends])[0]
    flight[has[MEET]] = places.at[MEET]
    moments = np.concatenate([places.at[SENT], places.at[TAKE]])
    ids = np.concatenate([np.flatnonzero(has[SENT]), np.flatnonzero(has[TAKE])])
    order = np.argsort(moments)
    moments, ids = moments[order], ids[order]
    since = places.before(moments, ranks[ids])[0]
    timed = (op[ids] != CODE["send"]) & (op[ids] != CODE["sendrecv"])
    until = np.where(timed, moments, -1)
    number = np.zeros(len(op), np.int64)
    number[ids] = np.arange(len(ids))
    sent, received = np.flatnonzero(has[SENT]), ids[op[ids] == CODE["recv"]]
    exchanged = np.flatnonzero(has[TAKEN])
    ending = exchanged[parts.waits[exchanged]]
    wait, request, arrives, leaves = parts.requests()
    come, gone = source[request[arrives]], request[leaves]
    rows = [
        (number[sent], arrival[sent], flight[sent]),
        (number[received], arrival[source[received]], flight[source[received]]),
        (number[exchanged], places.at[TAKEN], flight[source[exchanged]]),
        (number[ending], arrival[ending], flight[ending]),
        (number[wait[arrives]], arrival[come], flight[come]),
        (number[wait[leaves]], arrival[gone], flight[gone]),
    ]
    messages = [np.concatenate(column) for column in zip(*rows, strict=True)]
    return ranks[ids], since, until, *messages
