"""The machine file of a measurement: each number with its uncertainty and how it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.files import table_text
from parcast_mpi.measuring.estimates import (
    FEWEST_SIZES,
    LEAST_LOSS,
    Estimate,
    Floats,
    Piece,
    Startup,
    between,
    eager_limit,
    fixed_time_quantum,
    interruptions,
    level,
    line,
    of_repeats,
    of_rounds,
    one_piece,
    per_byte,
    pieces,
    split_startup,
    thin,
)
from parcast_mpi.measuring.sampling import (
    EAGER_SIZES,
    FILE_SIZES,
    HANDLED_SIZES,
    LATE,
    MEMORY,
    QUANTUM,
    SIZES,
    WINDOW,
    WINDOW_SIZES,
)

#: The samples of each rank, by stage.
Answers = Sequence[Mapping[str, Any]]

_PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


#: Part of the quanta of noise from which on it is said that they were faster.
_NOTED = 0.01


@attrs.frozen
class Value:
    """A line of the file: the key, its value, and where the number is from."""

    part: str
    key: str
    value: str | float | list[dict[str, str]]
    source: str = ""


def quantity(estimate: Estimate, unit: str) -> str:
    """Return ``"5.98 +- 0.12 us"``: the spread with two digits, the number to its last one."""
    down = unit == "s"
    fitting = [(p, f) for p, f in _PREFIXES.items() if f == 1 or (unit and (f < 1) == down)]
    prefix, factor = next(((p, f) for p, f in fitting if abs(estimate.value) >= f), fitting[-1])
    value, spread = estimate.value / factor, estimate.spread / factor
    digits = max(0, min(1 - _exponent(spread), 6 - _exponent(value))) if spread else 3
    return f"{value:.{digits}f} +- {spread:.{digits}f} {prefix}{unit}".rstrip()


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def values(
    answers: Answers,
    kernel: str | None,
    *,
    vendor: str = "",
    by_size: bool = True,
    memory: int = MEMORY,
) -> Iterator[Value]:
    """Yield what the samples of all ranks say of the machine's own parts.

    Parameters
    ----------
    answers
        Of each rank, by stage, what each round sampled.
    kernel
        The user's own, if there is one.
    vendor
        Of the MPI library.
    by_size
        Whether messages have lines by size, or one for all.
    memory
        Bytes that kernels of memory passed over on each core.
    """
    yield from _processor(answers, kernel, memory)
    if len(answers) > 1:
        yield from _network(answers, vendor, by_size=by_size)
    yield from _storage([samples["storage"] for samples in answers])
    yield from _variability(answers)


def _processor(answers: Answers, kernel: str | None, memory: int) -> Iterator[Value]:
    cores = len(answers)
    busy_cores = "one core" if cores == 1 else f"all {cores} cores at once"
    name, stage = ("POLY1", "rate") if kernel is None else (kernel, "rate of the kernel")
    rate, alone = _rates(answers, stage)
    source = f"{name} on {busy_cores}"
    if kernel is not None:
        source += f"; POLY1, {quantity(_rates(answers, 'rate')[0], 'FLOP/s')}"
    yield Value("processor", "rate", quantity(rate, "FLOP/s"), source)
    if cores > 1:
        source = f"{name}, {quantity(alone, 'FLOP/s')} on one core while all others idle"
        yield Value("processor", "boost", quantity(alone.over(rate), ""), source)
    yield Value("nodes", "count", 1, "this host")
    yield Value("nodes", "cores", cores, "as the operating system counts them")
    each = f"{memory >> 20} MiB a core"
    yield _memory("memory_bandwidth", answers, "", f"{each}, {busy_cores}")
    yield _memory("core_bandwidth", answers[:1], " alone", f"{each}, one core alone")


def _memory(key: str, answers: Answers, stage: str, where: str) -> Value:
    """Return what memory moves in a second, from two kernels that use it unlike."""
    in_place, added = (
        of_repeats(np.sum([samples[f"{kernel}{stage}"] for samples in answers], axis=0))
        for kernel in ("memory in place", "memory added")
    )
    source = (
        f"from {quantity(added, 'B/s')} where vectors are added to {quantity(in_place, 'B/s')} "
        f"where one is updated in place, {where}"
    )
    return Value("nodes", key, quantity(between(in_place, added), "B/s"), source)


def _rates(answers: Answers, stage: str) -> tuple[Estimate, Estimate]:
    """Return the rate of a core while all compute, and of one while the others idle."""
    together = of_repeats(np.concatenate([samples[stage] for samples in answers], axis=1))
    return together, of_repeats(answers[0][f"{stage} alone"])


def _network(answers: Answers, vendor: str, *, by_size: bool) -> Iterator[Value]:
    first, second = answers[:2]
    halves = [samples["halves"] for samples in first["messages"]]
    limit = eager_limit(EAGER_SIZES, first["eager limit"], LATE)
    copying = _copying(first["windows"], pieces(SIZES, halves, limit=limit), limit)
    lines = pieces(SIZES, halves, copying.value / _MOST_COPYING, limit)
    if not by_size:
        lines = (one_piece(line(SIZES, halves, "times of the ping-pong")),)
    split = split_startup(
        lines[0].startup, of_rounds([samples["sending"] for samples in first["calls"]]),
        of_rounds([samples["receiving"] for samples in second["calls"]]),
    )  # fmt: skip
    yield from _of_messages(lines, split, copying, len(halves))
    if by_size:
        waiting = _waiting(first["windows"], limit, copying.value)
        yield _by_size(lines, split, copying.value, waiting)
    if limit is not None:
        method = f"of {len(EAGER_SIZES)} sizes, the largest not to wait for a late receiver"
        yield Value("network", "eager_limit", f"{limit} B", method)
    yield _contention(answers, halves)
    if vendor in _LIBRARIES:
        yield Value("network", "collectives", _LIBRARIES[vendor], f"the library is {vendor}")
    yield from _handling(answers)


def _of_messages(
    lines: Sequence[Piece], split: Startup, copying: Estimate, rounds: int
) -> Iterator[Value]:
    """Yield what a message costs: its startup where it is short, its bandwidth where long."""
    pong = f"ping-pong, {len(SIZES)} sizes to {SIZES[-1] >> 20} MiB, {rounds} rounds"
    of_lines = f"of the line through all, which is off by {lines[0].worst:.0%} at most"
    short, long = (of_lines, of_lines) if len(lines) == 1 else ("short messages", "long messages")
    what = f"; less {_ns_per_byte(copying)} of the sender's own" if copying.value else ""
    calls = "short messages, each call timed by itself"
    if split.hidden:
        calls += "; between that and its share of a ping-pong's message, which takes less than both"
    yield Value(
        "network", "startup", quantity(split.startup, "s"), f"{pong}, {short}; less both overheads"
    )
    bandwidth = quantity(_bandwidth(lines[-1], copying.value), "B/s")
    yield Value("network", "bandwidth", bandwidth, f"{pong}, {long}{what}")
    yield Value("network", "overhead", quantity(split.overhead, "s"), calls)
    yield Value("network", "overhead_receive", quantity(split.overhead_receive, "s"), calls)
    if copying.value:
        source = f"{WINDOW} messages at once, {len(WINDOW_SIZES)} sizes, each byte of one more"
        yield Value("network", "overhead_per_byte", _ns_per_byte(copying), source)


def _contention(answers: Answers, halves: Any) -> Value:
    """Return what one message has over what all have together, of 1 MiB."""
    size = 1 << 20
    alone = of_rounds(size / np.asarray(halves)[..., SIZES.index(size)])
    total = of_rounds(answers[0]["saturation"])
    source = (
        f"all {len(answers)} at once, 1 MiB each way (COMMS3): {quantity(total, 'B/s')}; one "
        f"message alone, {quantity(alone, 'B/s')}"
    )
    share = min(1.0, round(alone.value / total.value, 4))
    return Value("network", "contention_level", share, source)


def _handling(answers: Answers) -> Iterator[Value]:
    """Yield what a process adds up and copies in a second, all of them at once."""

    def seconds(word: str) -> Floats:
        rounds = [[samples[word] for samples in rank["handled"]] for rank in answers]
        return np.asarray(np.median(rounds, axis=0))

    sizes = f"{HANDLED_SIZES[0]} B to {HANDLED_SIZES[-1] >> 20} MiB, on all cores at once"
    for key, times, what in (
        ("reduction_bandwidth", seconds("add"), "MPI_Reduce_local of doubles"),
        (
            "copy_bandwidth", seconds("copy") - seconds("exchange"),
            "what an exchange takes longer if each process first copies what it sends",
        ),
        (
            "own_bandwidth", seconds("keep") - seconds("exchange"),
            "what an exchange takes longer if each process first copies a block that it keeps",
        ),
    ):  # fmt: skip
        each = per_byte(HANDLED_SIZES, times)
        if each.value > 0:
            bandwidth = Estimate(1.0, 0.0).over(each)
            yield Value("network", key, quantity(bandwidth, "B/s"), f"{what}, {sizes}")


#: The rules by which a vendor's library chooses algorithms of collectives.
_LIBRARIES = {"MPICH": "mpich", "Open MPI": "openmpi"}

#: Of a long message's time for each byte, at most this part is the sender's own; long from here.
_MOST_COPYING, _LONG = 0.95, 4096


@attrs.frozen
class _Waiting:
    """What a message costs its sender that waits for its receive."""

    limit: int  #: those of more bytes wait
    overhead: Estimate


def _waiting(windows: Any, limit: int | None, copying: float) -> _Waiting | None:
    """Return what messages over the eager limit cost each in a window; None where none waits."""
    waits = [column for column, size in enumerate(WINDOW_SIZES) if limit and size > limit]
    if limit is None or len(waits) < FEWEST_SIZES:
        return None
    times = np.asarray(windows, float)[..., waits]
    return _Waiting(limit, level([WINDOW_SIZES[column] for column in waits], times, copying))


def _copying(windows: Any, lines: Sequence[Piece], limit: int | None) -> Estimate:
    """Return the sender's own seconds for each byte: what a byte more costs a window of messages.

    It is no more than a byte costs in the ping-pong's own lines of long messages.

    Parameters
    ----------
    windows
        Seconds of each message, rows for each round and a column for each of `WINDOW_SIZES`.
    lines
        The ping-pong by size.
    limit
        The eager limit.
    """
    last = pieces(WINDOW_SIZES, windows, limit=limit)[-1].per_byte
    long = [line.per_byte.value for line in lines if line.least >= _LONG] or [
        lines[-1].per_byte.value
    ]
    most = _MOST_COPYING * min(long)
    return last if last.value <= most else Estimate(most, last.spread * most / last.value)


def _bandwidth(piece: Piece, copying: float) -> Estimate:
    """Return the bandwidth of a line, less the sender's own seconds for each byte."""
    left = Estimate(max(piece.per_byte.value - copying, 1e-15), piece.per_byte.spread)
    return Estimate(1.0, 0.0).over(left)


def _by_size(
    lines: Sequence[Piece], split: Startup, copying: float, waiting: _Waiting | None
) -> Value:
    """Return the lines of the ping-pong by size, less what sender and receiver pay themselves."""
    entries = []
    for piece in lines:
        sending, receiving = split.overhead, split.overhead_receive
        entry = {"least": f"{piece.least} B"}
        waits = waiting is not None and piece.least > waiting.limit
        if waiting is not None and waits:
            sending = waiting.overhead
            left = piece.startup.value - sending.value
            receiving = receiving.times(min(1.0, max(0.0, left) / receiving.value))
        calls = sending.value + receiving.value
        startup = Estimate(max(0.0, piece.startup.value - calls), piece.startup.spread)
        entry |= {
            "startup": quantity(startup, "s"),
            "bandwidth": quantity(_bandwidth(piece, copying), "B/s"),
        }
        if waits:
            entry |= {
                "overhead": quantity(sending, "s"),
                "overhead_receive": quantity(receiving, "s"),
            }
        entries.append(entry)
    worst = max(piece.worst for piece in lines)
    source = f"the same ping-pong in {len(lines)} lines, off by {worst:.0%} at most"
    if waiting is not None:
        source += (
            f"; above the eager limit each message of {WINDOW} at once costs its sender "
            f"{quantity(waiting.overhead, 's')}, and its receiver what a ping-pong takes more"
        )
    return Value("network", "sizes", entries, source)


def _ns_per_byte(seconds: Estimate) -> str:
    return f"{seconds.value * 1e9:.4g} +- {seconds.spread * 1e9:.2g} ns/B"


def _storage(ranks: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[Value]:
    writes, reads, copies = (
        line(FILE_SIZES, [samples[word] for samples in ranks[0]], f"times of {what}")
        for word, what in (
            ("write", "writes"), ("read", "reads"), ("copy", "reads from memory"),
        )
    )  # fmt: skip
    sizes = f"{FILE_SIZES[0]} B to {FILE_SIZES[-1] >> 20} MiB; the line is off by"
    source = (
        f"writes to stable storage, {sizes} {writes.worst:.0%} at most; reads have "
        f"{quantity(reads.bandwidth, 'B/s')} after {quantity(reads.startup, 's')}"
    )
    bandwidth = writes.bandwidth
    if len(ranks) > 1:
        all_ranks = _together(ranks)
        disks = min(len(ranks), max(1, round(all_ranks.value / bandwidth.value)))
        yield Value("storage", "disks", disks, (
            f"how many writes are served at once: {quantity(all_ranks, 'B/s')} of all "
            f"{len(ranks)} cores, {quantity(bandwidth, 'B/s')} of one alone"
        ))  # fmt: skip
        bandwidth = between(bandwidth, all_ranks.over(Estimate(disks, 0.0)))
    yield Value("storage", "bandwidth", quantity(bandwidth, "B/s"), source)
    yield Value("storage", "startup", quantity(writes.startup, "s"), source)
    reading = f"reads of what was dropped from memory, {sizes} {reads.worst:.0%} at most"
    yield Value("disk", "bandwidth", quantity(reads.bandwidth, "B/s"), reading)
    yield Value("disk", "overhead", quantity(reads.startup, "s"), reading)
    yield Value(
        "disk", "write_bandwidth", quantity(writes.bandwidth, "B/s"),
        "as storage.bandwidth",
    )  # fmt: skip
    copying = f"reads of what is in memory, {sizes} {copies.worst:.0%} at most"
    yield Value("bus", "bandwidth", quantity(copies.bandwidth, "B/s"), copying)
    yield Value("bus", "latency", quantity(copies.startup, "s"), copying)
    mode = "the time of a read holds that of its copy"
    yield Value("bus", "mode", "cut-through", mode)


def _together(ranks: Sequence[Sequence[Mapping[str, Any]]]) -> Estimate:
    """Return what is written in a second where all ranks write, of what each round sampled."""
    seconds = [[samples["together"] for samples in rounds] for rounds in ranks]
    return of_repeats(len(ranks) * FILE_SIZES[-1] / np.max(seconds, axis=0))


def _variability(answers: Answers) -> Iterator[Value]:
    noises = [fixed_time_quantum(np.ravel(rank["noise"]), QUANTUM) for rank in answers]
    lost = np.concatenate([noise.lost for noise in noises])
    share = float(lost.mean()) / QUANTUM
    faster = sum(noise.faster for noise in noises) / len(noises)
    source = f"FTQ, {len(lost)} quanta on all cores, {share:.1%} of the time lost; 200 quantiles"
    if faster >= _NOTED:
        source += (
            f"; {faster:.1%} of the quanta did over 1.2 times as much as most: the core is faster "
            "at times, which counts as no loss of the others"
        )
    yield Value("variability", "quantum", f"{1e3 * QUANTUM:g} ms")
    yield Value("variability", "lost", _sampled(lost.tolist()), source)
    if len(answers) > 1:
        short = np.ravel([samples["short"] for samples in answers[0]["messages"]]).tolist()
        source = f"{len(short)} half round trips of 8 bytes; 200 quantiles"
        yield Value("variability", "message", _sampled(short), source)
    yield from _noise(lost)


def _noise(lost: Floats) -> Iterator[Value]:
    """Yield the interruptions, as they come in the time that is computed: as often, and as long."""
    struck = interruptions(lost, QUANTUM)
    if struck is None:
        return
    text = f"random:{1e6 * struck.interval:.6g}us,{1e6 * struck.length:.6g}us"
    source = (
        f"FTQ, the quanta that lost {LEAST_LOSS:.0%} or more, at random in the time computed; "
        "processor.rate was measured among them, and is that much too low for a program beside "
        "this noise"
    )
    yield Value("noise", "computation", text, source)


def _sampled(seconds: Sequence[float]) -> str:
    return "sampled:" + ",".join(f"{1e6 * value:.3g}us" for value in thin(seconds))


def file_text(name: str, summary: str, values: Sequence[Value], host: Mapping[str, Any]) -> str:
    """Return the whole file."""
    data: dict[str, Any] = {"name": name, "summary": summary, "source": "parcast mpi measure"}
    for value in values:
        data.setdefault(value.part, {})[value.key] = value.value
    sources = {f"{v.part}.{v.key}": f"measured: {v.source}" for v in values if v.source}
    spread = "Behind +- is a standard deviation: twice as much to either side holds 95 %."
    parts = [value.part for value in values[:1]]
    return table_text({**data, "host": host, "sources": sources}, {(p,): spread for p in parts})
