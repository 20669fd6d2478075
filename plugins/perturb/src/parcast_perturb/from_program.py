"""A program as a trace of a run without a network, and what the machine adds to it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from parcast import Query, Workload
from parcast.model import WHOLE_NETWORK, Costs
from parcast.program import ANY, Block, Unrolled
from parcast.program.matching import CODE, Columns, conversion_cost, matched_program
from parcast.program.matching import match_unrolled as fixed_program
from parcast.program.reference import frozen
from parcast.program.source import SENDS
from parcast.quantities import distinct_rows
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.unawaited import unawaited_notes
from parcast_traces.trace.calls import CALLS, CODES, WAIT
from parcast_traces.trace.columns import (
    BYTES,
    COUNT,
    END,
    FIRST,
    INTO,
    KIND,
    NAME,
    NONE,
    OUT,
    ROOM,
    SITE,
    START,
    Channels,
    Events,
    Floats,
    Ints,
    Trace,
)  # fmt: skip
from parcast_traces.workload import Spells, Traced

#: Calls of the language as a trace names them; computation becomes the gaps between them.
_NAMES = {
    "send": "send", "isend": "isend", "recv": "recv", "irecv": "irecv", "sendrecv": "sendrecv",
    "wait": "wait", "waitall": "waitall", "start": "call",
}  # fmt: skip
_STORED = ("read", "write")
_STORED_CODES = tuple(CODE[op] for op in _STORED)
_SENDING = (CODE["send"], CODE["isend"], CODE["sendrecv"])
_RECEIVING = (CODE["recv"], CODE["irecv"], CODE["sendrecv"])

NO_NETWORK = Recorded(latency=0.0, per_byte=0.0)

#: Seconds to make the trace of an operation, and time it: on one core of a server of 2023.
_OPERATION = 1.3e-6
#: And for an operation, and a task of a pool, of the plain run that decides what timing decides.
_PLAIN_RUN = 2.5e-5
_TASK = 3e-4


def cost(query: Query) -> float:
    """Return the seconds that the conversion of a program takes."""
    unrolled = matched_program(query, pools=True).unrolled
    costs = Costs.of(query, unrolled.needs(), WHOLE_NETWORK)
    operation = _OPERATION + _PLAIN_RUN * bool(_timing_decisions(query, costs, unrolled))
    return conversion_cost(query, operation) + _TASK * unrolled.tasks()


def of_program(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a program as a trace of a run without network, and what the machine adds to it.

    What timing decides is decided by the plain run on the machine, messages that share links, ports
    or a bus included. Where they do, each has them alone in what is added here: as no wait gets
    longer by that, and none for a disk is longer than in the plain run, no run without noise is
    faster.
    """
    program = matched_program(query, pools=True)
    costs = Costs.of(query, program.unrolled.needs(), WHOLE_NETWORK)
    decisions = _timing_decisions(query, costs, program.unrolled)
    unshared = _shares(costs, program.unrolled)
    original = None
    if decisions:
        fixed = frozen(program.unrolled, costs)
        program = fixed_program(fixed.unrolled, program.algorithms, costs.eager_limit)
        original = np.array([CODE[op] for op in fixed.was], np.int8)
    columns = program.columns
    trace, calls = _untimed(columns, query)
    seconds = _seconds(columns, costs)
    gaps = _gaps(columns, calls, seconds)
    rows = np.flatnonzero(gaps)
    computing = Perturbation(removed=(rows, gaps[rows]))
    early = early_limit(costs)
    recorded = attrs.evolve(NO_NETWORK, eager_max=costs.eager_limit, early_max=early)
    delays = propagate(trace, computing, recorded, "clocked", every_end=True)
    times = np.asarray(trace.events.times)
    assert delays.ends is not None
    times[:, END] = delays.ends[:, 0]
    times[1:, START] = times[:-1, END]
    times[trace.events.offsets[:-1], START] = 0.0
    times[:, START] += gaps
    operations = columns.op if original is None else original
    content = Traced(
        trace,
        _added(columns, program.matching.received_from, costs, calls, trace),
        costs.eager_limit,
        np.flatnonzero(trace.events.whole[:, NAME] == CODES["call"]),
        _spells(columns, calls, seconds, np.isin(operations, _STORED_CODES)),
        _spells(columns, calls, seconds, operations == CODE["pool"]),
        early,
        unshared,
        costs,
    )
    return attrs.evolve(workload, kind="trace", content=content), decisions


def early_limit(costs: Costs) -> float:
    """Return above how many bytes a message flies once its receive is posted."""
    return -np.inf if costs.eager == "waits" else float(costs.eager_limit)


def without_network(content: Traced) -> Recorded:
    """Return the machine of a program's trace, on which messages take no time."""
    return attrs.evolve(NO_NETWORK, eager_max=content.eager_limit, early_max=content.early_limit)


def of_work(query: Query) -> Query:
    """Return the query with a trace of work as the run of its machine without a network.

    Raises
    ------
    UnsupportedError
        As `parcast_traces.to_program.program` does.
    """
    from parcast_traces.to_program import program

    work: Traced = query.workload.content
    program_workload, notes = program(query.workload, query)
    timed, decisions = of_program(program_workload, attrs.evolve(query, workload=program_workload))
    content: Traced = timed.content
    trace = attrs.evolve(content.trace, notes=(*notes, *unawaited_notes(work.trace), *decisions))
    timed = attrs.evolve(timed, content=attrs.evolve(content, trace=trace))
    return attrs.evolve(query, workload=timed)


def _shares(costs: Costs, unrolled: Unrolled) -> bool:
    """Whether messages share what they pass."""
    return costs.contention != "none" and bool(unrolled.pools or _has(unrolled, SENDS))


def _has(unrolled: Unrolled, ops: frozenset[str]) -> bool:
    return any(block.op in ops for block in unrolled.blocks)


def _timing_decisions(query: Query, costs: Costs, unrolled: Unrolled) -> tuple[str, ...]:
    """Return what timing decides, which the graph has as the machine without noise decides it."""
    private = costs.layout == "cluster" and costs.disks >= query.p
    accesses = [block for block in unrolled.blocks if block.op in _STORED]
    private_files = all(block.arguments["file"] == "own" for block in accesses)
    decisions = {
        "who takes a message from ANY": any(_from_any(block) for block in unrolled.blocks),
        "who takes a task of a pool": bool(unrolled.pools),
        "who waits for a disk": bool(accesses) and query.p > 1 and not (private and private_files),
    }
    return tuple(
        f"{decision} is fixed, as it is without noise: a message graph has no queues"
        for decision, taken_by_timing in decisions.items()
        if taken_by_timing
    )


def _from_any(block: Block) -> bool:
    source = block.arguments.get("src")
    return isinstance(source, int) and source == ANY


def _untimed(columns: Columns, query: Query) -> tuple[Trace, Ints]:
    """Return the calls as a trace in which nothing takes time, and which operations they are."""
    names = {code: _NAMES[op] for op, code in CODE.items() if op in _NAMES}
    calls = np.flatnonzero(np.isin(columns.op, list(names)))
    rank = columns.rank_of(calls)
    size = len(columns.offsets) - 1
    counts = np.bincount(rank, minlength=size) + 1  # and a last call, for what is computed last
    offsets = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(len(calls)) + rank
    whole = np.zeros((int(offsets[-1]), 7), np.int32)
    times = np.zeros((len(whole), 4))
    whole[:, (OUT, INTO)] = NONE
    whole[:, NAME], whole[:, SITE] = CODES["finalize"], 0
    lookup = np.zeros(len(CODE), np.int64)
    for code, name in names.items():
        lookup[code] = CODES[name]
    kinds = np.array(list(CALLS.values()))
    whole[rows, NAME] = lookup[columns.op[calls]]
    whole[:, KIND] = kinds[whole[:, NAME]]
    whole[rows, SITE] = columns.site[calls] + 1
    times[rows, BYTES] = times[rows, ROOM] = columns.amount[calls]
    channels = _channels(columns, calls, rank, rows, whole)
    slots, requests = _requests(columns, calls, rows, whole, rank, size)
    sites = ("end", *(
        site.name if site.line is None else columns.unrolled.line(number)
        for number, site in enumerate(columns.unrolled.sites)
    ))  # fmt: skip
    return Trace(
        where=query.workload.name,
        events=Events(offsets=offsets, whole=whole, times=times, slots=slots),
        channels=channels,
        communicators=(np.arange(size, dtype=np.int32),),
        labels=("0",),
        sites=sites,
        requests=requests,
        tick=1.0,
        comparable=True,
        modeled=True,
    ), calls


def _channels(columns: Columns, calls: Ints, rank: Ints, rows: Ints, whole: Any) -> Channels:
    """Number the channels, and say on which each call sends and receives."""
    op, tag = columns.op[calls], columns.tag[calls]
    sends, receives = np.isin(op, _SENDING), np.isin(op, _RECEIVING)
    sources = np.concatenate([rank[sends], columns.src[calls][receives]])
    targets = np.concatenate([columns.dst[calls][sends], rank[receives]])
    tags = np.concatenate([tag[sends], tag[receives]]).astype(np.int64)
    first, numbers = distinct_rows((sources, targets, tags))
    whole[rows[sends], OUT] = numbers[: sends.sum()]
    whole[rows[receives], INTO] = numbers[sends.sum() :]
    return Channels(
        source=sources[first].astype(np.int32),
        target=targets[first].astype(np.int32),
        tag=tags[first],
        communicator=np.zeros(len(first), np.int32),
    )


def _requests(
    columns: Columns, calls: Ints, rows: Ints, whole: Any, rank: Ints, size: int
) -> tuple[Any, Any]:
    """Give each request a number of its own in its rank; return those of waits, and how many."""
    opens = np.isin(columns.op[calls], (CODE["isend"], CODE["irecv"]))
    count = np.bincount(rank[opens], minlength=size)
    first = np.cumsum(count) - count
    number = np.arange(int(opens.sum())) - first[rank[opens]]
    whole[rows[opens], COUNT] = number
    waits = whole[rows, KIND] == WAIT
    ids = calls[waits]
    begin, end = (np.searchsorted(columns.wait_op, ids, side) for side in ("left", "right"))
    whole[rows[waits], FIRST] = begin
    whole[rows[waits], COUNT] = end - begin
    slots = number[np.searchsorted(calls[opens], columns.wait_request)]
    return slots.astype(np.int32), count.astype(np.int32)


def _seconds(columns: Columns, costs: Costs) -> Floats:
    """Return how long each operation takes that is no call, and 0 of calls."""
    seconds = np.zeros(len(columns.op))
    for op in (*_STORED, "compute", "elapse"):
        ids = np.flatnonzero(columns.op == CODE[op])
        if not len(ids):
            continue
        amount, rank = columns.amount[ids], columns.rank_of(ids)
        if op == "compute":
            memory = 0.0 if columns.memory is None else columns.memory[ids]
            seconds[ids] = costs.compute(rank, amount, memory)
        elif op == "elapse":
            seconds[ids] = costs.elapse(rank, amount)
        else:
            striped = _striped(columns, costs)[columns.order[ids]]
            private, shared = (costs.piece(amount, file) for file in ("own", "shared"))
            seconds[ids] = np.where(striped, shared, private)
    return seconds


def _striped(columns: Columns, costs: Costs) -> Any:
    """Return of each block whether it is an access that is spread over all disks."""
    files = (block.arguments.get("file") for block in columns.unrolled.blocks)
    return np.array([file is not None and costs.striped(file) for file in files], bool)


def _gaps(columns: Columns, calls: Ints, seconds: Floats) -> Floats:
    """Return how long what is no call takes before each call."""
    gaps = np.zeros(len(calls) + len(columns.offsets) - 1)
    busy = np.flatnonzero(seconds)
    np.add.at(gaps, np.searchsorted(calls, busy) + columns.rank_of(busy), seconds[busy])
    return gaps


def _spells(columns: Columns, calls: Ints, seconds: Floats, mask: Any) -> Spells | None:
    """Return where in the gaps some operations are, or None where they take no time."""
    if not (seconds[mask] > 0).any():
        return None
    busy = np.flatnonzero(seconds)
    event = np.searchsorted(calls, busy) + columns.rank_of(busy)
    before = np.cumsum(seconds[busy]) - seconds[busy]
    first = np.flatnonzero(np.diff(event, prepend=-1))
    after = before - np.repeat(before[first], np.diff(first, append=len(busy)))
    selected = mask[busy]
    return Spells(event[selected], after[selected], seconds[busy][selected])


def _added(
    columns: Columns, received_from: Ints, costs: Costs, calls: Ints, trace: Trace
) -> Floats:
    """Return what the machine adds to each call, to its message and after its receipt."""
    op, rank = columns.op[calls], columns.rank_of(calls)
    rows = np.arange(len(calls)) + rank
    additions = np.zeros((trace.count, 3))
    sends, timeless = np.isin(op, _SENDING), op == CODE["start"]
    ids = calls[sends]
    amount = columns.amount[ids]
    additions[rows, 0] = additions[rows, 2] = costs.overhead_receive
    if costs.sizes or costs.signals:
        taking = np.isin(op, (CODE["recv"], CODE["sendrecv"]))
        received = columns.amount[received_from[calls[taking]]]
        additions[rows[taking], 0] = additions[rows[taking], 2] = costs.receiving(received)
    additions[rows[sends], 0] = costs.sending(amount)
    additions[rows[timeless]] = 0.0
    if costs.overhead_by == "message":
        _pay_by_message(additions, columns, received_from, costs, calls)
    if len(ids):
        additions[rows[sends], 1] = costs.wire(rank[sends], columns.dst[ids], amount)
    return additions


def _pay_by_message(
    additions: Floats, columns: Columns, received_from: Ints, costs: Costs, calls: Ints
) -> None:
    """Let waits pay for every message that they take, as far as a graph can say it: no more.

    After the last arrival a wait pays for one message at least, and in all for each of them.
    """
    rows = np.arange(len(calls)) + columns.rank_of(calls)
    op = columns.op[calls]
    waits = rows[np.isin(op, (CODE["wait"], CODE["waitall"]))]
    additions[rows[op == CODE["irecv"]]] = additions[waits] = 0.0
    request = columns.wait_request
    arrives = columns.op[request] == CODE["irecv"]
    sender = np.where(arrives, received_from[request], request)
    size = columns.amount[sender]
    awaited = arrives | (size > costs.eager_limit)
    cost = np.where(arrives, costs.receiving(size), 0.0)
    wait = rows[np.searchsorted(calls, columns.wait_op)]
    np.add.at(additions[:, 0], wait, cost)
    least = np.full(len(additions), np.inf)
    np.minimum.at(least, wait[awaited], cost[awaited])
    additions[waits, 2] = np.where(np.isfinite(least[waits]), least[waits], 0.0)
