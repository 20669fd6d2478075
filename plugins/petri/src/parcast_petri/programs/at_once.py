"""A program's net in columns, built for all of its operations at once.

Its transitions are those of `parcast_petri.programs.lowering`, in the same order, so that a run has
the same bits. What each operation is made of stands there; here only which parts it has is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from parcast.model import Query
from parcast.program.matching import CODE, TIMING, matched_program
from parcast.program.reference import SAME_INSTANT
from parcast_petri.machine.links import Traffic
from parcast_petri.nets.arcs import Whole
from parcast_petri.nets.net import Net
from parcast_petri.nets.single_tokens import SingleArcs, SingleTokens
from parcast_petri.options import Options
from parcast_petri.programs.accounting import Records
from parcast_petri.programs.operation_parts import (
    CALL,
    CARRY,
    LEAVE,
    MEET,
    SENT,
    START,
    TAKE,
    TAKEN,
    WORK,
    Parts,
    Reals,
)
from parcast_petri.programs.part_places import Places

#: What a net says beside its columns: places and transitions have no names here.
_UNNAMED = Net(places=(), transitions=(), initial={}, same=SAME_INSTANT)


@attrs.frozen(eq=False)
class ColumnProgram:
    """The net of a program, and which of its moments say what."""

    net: SingleTokens
    records: Records
    end: int  #: the place that every process ends in


def is_plain(query: Query, options: Options) -> bool:
    """Return whether a program on idle nodes has such a net: messages between two, computation."""
    program = matched_program(query, pools=True)
    columns, sharing = program.columns, options.on(query.machine).sharing
    if program.native.pools or columns.among({"read", "write", "pool"}).any():
        return False
    if query.machine.part("traffic", Traffic) is not None:
        return False
    if sharing not in ("none", "ps_transfer", "max_min") or options.servers == "single":
        return False
    if query.machine.network.overhead_by == "message":
        return False  # a wait takes one message after another
    traffic = options.memory == "ps" and columns.memory is not None
    return not traffic and not (program.matching.sent_to == TIMING).any()


def column_program(query: Query, options: Options) -> ColumnProgram:
    """Return the net of a program that `is_plain`.

    Raises
    ------
    UnsupportedError
        If the machine lacks a number, or shares its network in another way than the options say.
    """
    return _whole(Parts.of(query, options.on(query.machine)))


def _whole(parts: Parts) -> ColumnProgram:
    """Return the net, and what its moments say."""
    places = Places.of(parts)
    net = SingleTokens(
        places=places.count,
        pre=_arcs(places.inputs()),
        post=_arcs(places.outputs()),
        delay=_delays(parts, places),
        **_drains(parts, places),
        links=parts.messages.links,
        marked=places.marked(),
        net=_UNNAMED,
    )
    return ColumnProgram(net, _records(parts, places), places.end)


def _delays(parts: Parts, places: Places) -> Reals:
    """Return the seconds of each transition; not a number where it is immediate."""
    has, at = parts.has, places.at
    seconds = np.zeros(places.transitions)
    for part in (WORK, LEAVE):
        seconds[at[part]] = parts.seconds[has[part]]
    startup, transfer = parts.messages.startup, parts.messages.transfer
    drains = parts.messages.group >= 0
    within = startup if parts.inside else 0.0
    seconds[at[CARRY]] = np.where(drains, transfer + within, startup + transfer)
    sends = np.flatnonzero(has[CARRY])
    seconds[at[START]] = startup[np.searchsorted(sends, np.flatnonzero(has[START]))]
    call = float(parts.costs.overhead_receive)
    seconds[at[CALL]] = call
    source = parts.program.matching.received_from
    seconds[at[TAKEN]] = parts.receiving[source[has[TAKEN]]]
    op = parts.program.columns.op[has[TAKE]]
    overhead = np.where(op == CODE["sendrecv"], 0.0, call)
    received = op == CODE["recv"]
    overhead[received] = parts.receiving[source[has[TAKE]][received]]
    seconds[at[TAKE]] = overhead
    seconds[seconds == 0] = np.nan
    seconds[at[CARRY][drains]] = (transfer + within)[drains]
    return seconds


def _drains(parts: Parts, places: Places) -> dict[str, Any]:
    """Return what messages share, by transition."""
    group, groups = parts.messages.group, parts.messages.groups
    load, speed = np.full((2, places.transitions), -1)
    loads = {name: at for at, name in enumerate(dict.fromkeys(name for name, _ in groups))}
    speeds = {speed: at for at, speed in enumerate(dict.fromkeys(speed for _, speed in groups))}
    if groups:
        drains, carry = group >= 0, places.at[CARRY]
        of_load = np.array([loads[name] for name, _ in groups])
        of_speed = np.array([speeds[tokens] for _, tokens in groups])
        load[carry[drains]] = of_load[group[drains]]
        speed[carry[drains]] = of_speed[group[drains]]
    return {"load": load, "speed": speed, "loads": (*loads,), "speeds": (*speeds,)}


def _arcs(pairs: Sequence[tuple[Whole, Whole]]) -> SingleArcs:
    """Return arcs in the order of the transitions."""
    transition = np.concatenate([transition.astype(np.int32) for transition, _ in pairs])
    place = np.concatenate([place.astype(np.int32) for _, place in pairs])
    order = np.argsort(transition, kind="stable")
    return SingleArcs(transition[order], place[order])


def _records(parts: Parts, places: Places) -> Records:
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
