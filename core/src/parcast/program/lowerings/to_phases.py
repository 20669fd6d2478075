"""A program as phases: its operations counted, for solvers of like processes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast.errors import UnsupportedError
from parcast.model.costs import Costs
from parcast.model.following import WHOLE_NETWORK
from parcast.model.phases import CONSTANT, Phase, Phases, Traffic
from parcast.model.query import Query
from parcast.model.traffic import Messages, traffic_of
from parcast.model.workload import Workload
from parcast.program.matching.blockwise import ends_in_block_order
from parcast.program.matching.collectives import is_signal
from parcast.program.matching.prepare import conversion_cost, matched_program
from parcast.program.source.operations import COLLECTIVES, SENDS
from parcast.program.unroll.blocks import Block, Pool, Unrolled
from parcast.quantities.formulas import Formula, Unit

#: A program whose busiest process computes more than this times the mean is not SPMD.
MOST_UNEQUAL = 1.5

#: Rounding, which must not decide whether a program is.
_ROUNDING = 1e-9

_COUNTED = (
    "operations are only counted: overlap (time too long) and waiting for other processes "
    "(time too short) are ignored"
)
_CHAINED = (
    "some processes receive before others send: pipelines and wavefronts take longer than predicted"
)

_RECEIVING = frozenset({"recv", "irecv", "sendrecv", "wait", "waitall"})


@attrs.frozen
class Counts:
    """What each rank does in the whole program."""

    seconds: NDArray[np.float64]  #: computing
    handling: NDArray[np.float64]  #: seconds of adding up and copying in collectives
    messages: NDArray[np.float64]  #: sent
    bytes: NDArray[np.float64]  #: sent
    calls: NDArray[np.float64]  #: that pay the receiver's overhead
    accesses: NDArray[np.float64]  #: reads and writes
    accessed: NDArray[np.float64]  #: bytes read and written


#: Seconds that the conversion takes for an operation.
_OPERATION = 1e-7


def cost(query: Query) -> float:
    """Return the seconds that the conversion of a program takes at most."""
    return conversion_cost(query, _OPERATION)


def lower(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``program`` workload as one phase of constant bursts, and what that leaves out.

    The phase is of the query's own p: messages and bytes of a burst are the means over
    processes of what they have in the whole program, collectives expanded; the work is that
    of the busiest, below whose own no time can be. A cycle is an
    access to files, and a burst is a run of the computation that all processes repeat most.

    Raises
    ------
    UnsupportedError
        If the processes are not alike: the largest work is over 1.5 times the mean.
    InvalidPointError
        If the program has no meaning at this p, or does not end.
    """
    query = attrs.evolve(query, workload=workload)
    prepared = matched_program(query, pools=True)
    if query.machine.storage.aggregators is not None and _together(_timed(prepared.native)):
        prepared = matched_program(_each_for_itself(query), pools=True)  # phases gather themselves
    costs = Costs.of(query, prepared.unrolled.needs(), WHOLE_NETWORK)
    timed = _timed(prepared.unrolled)
    counts = count(timed, costs)
    chained = not ends_in_block_order(prepared.native, math.inf)
    native = _timed(prepared.native)
    _check_alike(counts, query)
    traffic = _traffic(timed, counts, costs) if query.machine.derives_traffic else None
    phase = _phase(native, counts, costs, query, traffic)
    content = Phases(phase=(phase,))
    left_out = _notes(native, counts, phase, costs, query.machine.storage.aggregators)
    notes = (_COUNTED, *([_CHAINED] if chained else []), *left_out)
    return attrs.evolve(workload, kind="phases", content=content), notes


def _each_for_itself(query: Query) -> Query:
    """Return the query about a machine on which every process accesses files for itself."""
    machine = query.machine
    storage = attrs.evolve(machine.storage, aggregators=None)
    machine = attrs.evolve(machine, parts={**machine.parts, "storage": storage})
    return attrs.evolve(query, machine=machine)


def _notes(
    native: Unrolled, counts: Counts, phase: Phase, costs: Costs, aggregators: int | None
) -> Iterator[str]:
    """Yield what the phase leaves out."""
    if native.pools:
        yield "tasks of a pool are divided evenly: their load imbalance is ignored"
    if any(pool.master is not None for pool in native.pools):
        yield "nobody waits for the master of a pool, who attends to one after another"
    if counts.seconds.max() > 1.01 * counts.seconds.mean():
        yield "load imbalance: all processes compute as long as the busiest"
    if any(block.op == "start" for block in native.blocks):
        yield "what comes before a start() that not all processes reach is counted too"
    if counts.accesses.min() < counts.accesses.max():
        yield "access by some processes becomes access by all, of the mean bytes"
    together = phase.io == "sync"
    once = together and aggregators is None
    if once and counts.accesses.any() and native.size > 1 and costs.disk_startup:
        yield "a collective access pays the latency (startup) of a disk once"
    if together and aggregators is not None and _own_files(native):
        yield "aggregators access the files of single processes, too"
    files = {block.arguments["file"] for block in native.blocks if block.op in {"read", "write"}}
    if (
        costs.layout == "cluster"
        and costs.disks > 1
        and (not together) in map(costs.striped, files)
    ):
        yield "access by all together is spread over all disks, other access to one disk each"


def _own_files(native: Unrolled) -> bool:
    """Return whether some access is of a process's own file."""
    return any(block.arguments.get("file") == "own" for block in native.blocks)


def _timed(unrolled: Unrolled) -> Unrolled:
    """Return what comes after the last ``start()`` of all processes at once, to be counted."""
    starts = (
        i for i, block in enumerate(unrolled.blocks) if block.op == "start" and block.ranks is None
    )
    return attrs.evolve(unrolled, blocks=unrolled.blocks[max(starts, default=-1) + 1 :])


def count(unrolled: Unrolled, costs: Costs) -> Counts:
    """Return what every rank of an expanded program does."""
    counts = Counts(*(np.zeros(unrolled.size) for _ in attrs.fields(Counts)))
    for block in unrolled.blocks:
        arguments = block.arguments
        at = slice(None) if block.ranks is None else block.ranks
        if is_signal(arguments):
            continue
        if block.op == "compute":
            counts.seconds[at] += costs.compute(at, arguments["flops"], arguments["bytes"])
        elif block.op == "elapse":
            column = counts.handling if in_collective(block) else counts.seconds
            column[at] += costs.elapse(at, arguments["seconds"])
        elif block.op in {"read", "write"}:
            counts.accesses[at] += 1
            counts.accessed[at] += arguments["bytes"]
        elif block.op == "pool":
            _share(unrolled.pools[arguments["pool"]], unrolled.ranks_of(block), costs, counts)
        if block.op in SENDS:
            counts.messages[at] += 1
            counts.bytes[at] += arguments["bytes"]
        if block.op in _RECEIVING:
            counts.calls[at] += 1
    return counts


def in_collective(block: Block) -> bool:
    """Return whether a block of an expanded program is part of a collective."""
    return bool(np.min(block.arguments.get("tag", 0)) < 0)


def _share(pool: Pool, ranks: Any, costs: Costs, counts: Counts) -> None:
    """Count the tasks of a pool as shared out evenly among the processes that come to it."""
    if pool.master is not None:
        ranks = ranks[ranks != pool.master]
    taking = len(ranks)
    for block in pool.work.blocks:
        arguments = block.arguments
        count = pool.tasks if block.ranks is None else len(block.ranks)

        def total(name: str, arguments: Any = arguments, count: int = count) -> float:
            return float(np.sum(np.broadcast_to(arguments[name], count)))

        if block.op == "compute":
            flops, moved = total("flops"), total("bytes")
            counts.seconds[ranks] += costs.compute(ranks, flops, moved) / taking
        elif block.op == "elapse":
            counts.seconds[ranks] += costs.elapse(ranks, total("seconds")) / taking
        elif block.op == "send":
            counts.messages[ranks] += count / taking
            counts.bytes[ranks] += total("bytes") / taking
        elif block.op in {"read", "write"}:
            counts.accesses[ranks] += count / taking
            counts.accessed[ranks] += total("bytes") / taking
    requests = pool.tasks / taking + 1  # and the word that there are no more
    fetched, results = (
        float(np.sum(np.broadcast_to(column, pool.tasks))) for column in (pool.bytes, pool.result)
    )
    counts.calls[ranks] += requests
    if pool.master is None:
        counts.messages[ranks] += 2 * requests
        counts.bytes[ranks] += fetched / taking
        return
    counts.messages[ranks] += requests
    counts.bytes[ranks] += results / taking
    counts.messages[pool.master] += taking * requests
    counts.bytes[pool.master] += fetched
    counts.calls[pool.master] += taking * requests


def _check_alike(counts: Counts, query: Query) -> None:
    """Refuse processes whose largest work is far above the mean."""
    seconds = counts.seconds
    largest, mean = float(seconds.max()), float(seconds.mean())
    if largest > MOST_UNEQUAL * mean * (1 + _ROUNDING):
        low, high = int(seconds.argmin()), int(seconds.argmax())
        raise UnsupportedError(
            f"{query.workload.name!r} is not SPMD at p={query.p}: rank {low} computes "
            f"{seconds[low]:.3g} s and rank {high} {largest:.3g} s (largest/mean "
            f"{largest / mean:.3g} > {MOST_UNEQUAL})"
        )


def _phase(
    native: Unrolled, counts: Counts, costs: Costs, query: Query, traffic: Traffic | None
) -> Phase:
    accesses = float(counts.accesses.max())
    repeats = _repeats(native)
    cycles = accesses or 1.0
    bursts = max(1.0, repeats / cycles)
    per_burst = 1.0 / (cycles * bursts)
    busiest = float((counts.seconds + counts.handling).max())
    seconds = busiest + _own_overhead(counts, costs, traffic)
    seconds *= float(costs.placement.speed.min())  # work, which phases divide by the speed again
    rate = query.machine.need("processor.rate", "a workload with computation") if seconds else 0.0

    def number(value: float, dimension: str) -> Formula:
        return Formula.read(value, Unit(dimension))

    return Phase(
        name=query.workload.name,
        cycles=number(cycles, "1"),
        bursts=number(bursts, "1"),
        serial=number(seconds * rate * per_burst, "FLOP"),
        messages=number(float(counts.messages.mean()) * per_burst, "1"),
        bytes=number(float(counts.bytes.mean()) * per_burst, "B"),
        io="sync" if _together(native) else "async",
        io_bytes=number(float(counts.accessed.sum()) / cycles, "B"),
        distribution=CONSTANT,
        traffic=traffic and traffic * per_burst,
    )


def _traffic(timed: Unrolled, counts: Counts, costs: Costs) -> Traffic:
    """Return what all messages of the program take of a mean process.

    Messages of a pool are for nobody beforehand: they take what those between nodes do.
    """
    exchanges = list(_exchanges(timed))
    known = [messages.times * float(messages.counts.sum()) for messages in exchanges]
    sent = [
        messages.times * float((messages.counts * messages.sizes).sum()) for messages in exchanges
    ]
    traffic = traffic_of(exchanges, costs, timed.size)
    of_pools = float(counts.messages.mean()) - sum(known) / timed.size
    if of_pools < 1e-9:
        return traffic
    carried = float(counts.bytes.mean()) - sum(sent) / timed.size
    overheads = costs.overhead + costs.overhead_receive + costs.startup
    return attrs.evolve(
        traffic,
        fixed=traffic.fixed + of_pools * overheads + carried * costs.overhead_per_byte,
        transfer=traffic.transfer + carried * costs.per_byte,
    )


def _exchanges(timed: Unrolled) -> Iterator[Messages]:
    """Yield the messages that are over before those that follow them begin.

    These are what all exchange by ``sendrecv``, and what is posted from one wait to the next; what
    is sent otherwise is taken as on the network together.
    """
    numbers: dict[Hashable, int] = {}
    kinds: dict[int, int] = {}
    blocks: dict[int, Block] = {}
    exchanges: Counter[tuple[int, ...]] = Counter()
    others: Counter[int] = Counter()
    posted: list[int] = []
    for block in timed.blocks:
        if block.op in {"wait", "waitall"} and posted:
            exchanges[tuple(posted)] += 1
            posted = []
        if block.op not in SENDS or is_signal(block.arguments):
            continue
        if id(block) not in kinds:
            kinds[id(block)] = numbers.setdefault(_kind(block), len(numbers))
        kind = kinds[id(block)]
        blocks[kind] = block
        if block.op == "isend":
            posted.append(kind)
        elif block.op == "sendrecv" and block.ranks is None:
            exchanges[kind,] += 1
        else:
            others[kind] += 1
    if posted:
        exchanges[tuple(posted)] += 1
    for members, times in exchanges.items():
        sent = Counter(members)
        waited = blocks[members[0]].op == "isend"
        yield _messages(timed.size, blocks, sent, times=times, posted=waited)
    if others:
        yield _messages(timed.size, blocks, others)


def _messages(
    size: int, blocks: Mapping[int, Block], counts: Counter[int], **exchange: Any
) -> Messages:
    """Return the messages of these blocks, each so many times."""
    columns = []
    for kind, count in counts.items():
        block = blocks[kind]
        sources = np.arange(size) if block.ranks is None else block.ranks
        sent = (sources, block.arguments["dst"], block.arguments["bytes"], count)
        columns.append(np.broadcast_arrays(*sent))
    return Messages.of(*map(np.concatenate, zip(*columns, strict=True)), **exchange)


def _kind(block: Block) -> Hashable:
    """Return what tells messages apart: many blocks may send the same."""
    columns = (block.ranks, block.arguments["dst"], block.arguments["bytes"])
    arrays = [np.asarray(-1 if column is None else column) for column in columns]
    return block.op, *((array.dtype.str, array.shape, array.tobytes()) for array in arrays)


def _own_overhead(counts: Counts, costs: Costs, traffic: Traffic | None) -> float:
    """Return the seconds of a mean process in calls that the phase's messages do not count.

    That is the overhead of receiving that no message of its own answers for; and phases send
    nothing at p = 1, so there it is all of its messages to itself.
    """
    columns = (counts.messages, counts.bytes, counts.calls)
    messages, sent, calls = (float(column.mean()) for column in columns)
    more = max(0.0, calls - messages) if costs.overhead_by == "call" else 0.0
    if len(counts.messages) > 1:
        return more * float(costs.overhead_receive)
    if traffic is not None:
        return traffic.fixed + traffic.transfer + more * float(costs.overhead_receive)
    per_message = costs.overhead + costs.local_startup
    of_bytes = costs.overhead_per_byte + costs.local_per_byte
    return float(messages * per_message + sent * of_bytes + calls * costs.overhead_receive)


def _repeats(native: Unrolled) -> float:
    """Return how often all ranks do the computation that they do most often."""
    counts = np.zeros(len(native.sites))
    for block in native.blocks:
        counts[block.site] += block.ranks is None and block.op in {"compute", "elapse"}
    return float(counts.max(initial=1.0))


def _together(native: Unrolled) -> bool:
    """Return whether every access is of all ranks, right after something they all do."""
    before = None
    for block in native.blocks:
        if block.op in {"read", "write"}:
            joined = block.arguments["collective"] or (before in COLLECTIVES)
            if block.ranks is not None or not joined:
                return False
        if block.op not in {"region", "start"}:
            joining = block.ranks is None and block.arguments.get("color") is None
            before = block.op if joining else None
    return True
