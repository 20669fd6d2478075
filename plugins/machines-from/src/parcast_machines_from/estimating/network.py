"""The part ``network`` of a machine: pairs, the eager limit, and levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs

from parcast_machines_from.estimating.curves import Curve, curve_of, line_through
from parcast_machines_from.estimating.numbers import Stated, quantity, size_text
from parcast_machines_from.estimating.pairs import PairEstimate, Piece, estimate_pair
from parcast_machines_from.naming import called
from parcast_machines_from.records import BETWEEN_TWO, FIRST, Series, only_of

#: A rise of a message's time by so much of it, and so many seconds, is where the protocol changes.
_JUMP, _LEAST_JUMP = 0.15, 0.5e-6

#: Several pairs have more than one where it is by this factor.
_MORE = 1.05

#: Messages of so many bytes tell what a ring of processes shares.
_LONG = 65536.0

#: The level of processes that share a node.
_NODE = "node"

#: Of a long message's time for each byte, at most this part is the sender's own.
_MOST_COPYING = 0.95

_EAGER = (1024.0, float(1 << 20))  #: where eager limits are


@attrs.frozen
class NetworkPart:
    """What is known of the network, what is not, and what was seen on the way."""

    numbers: tuple[Stated, ...]
    open: tuple[str, ...]  #: keys that nothing determines, and what would
    notes: tuple[str, ...]


def network_part(
    series: Sequence[Series], sizes: Mapping[str, int], *, alone: bool = False
) -> NetworkPart:
    """Return what outputs say of the network.

    Parameters
    ----------
    series
        All that was read.
    sizes
        Processes of each level that is named, such as ``node``.
    alone
        Whether messages within a node are all that there is, where no other was measured.
    """
    far = [item for item in only_of(series, "latency") if not item.within]
    windows = [item for item in only_of(series, "bandwidth") if not item.within]
    notes = [*_unplaced(series), *_alone(series), *_too_many(series, sizes)]
    pingpong, rates = curve_of(far), curve_of(windows)
    if pingpong is not None and len(pingpong.points) == 1:
        size = size_text(pingpong.points[0].size)
        notes.append(f"{pingpong.source}: a ping-pong of {size} alone tells no bandwidth; left out")
        pingpong = None
    numbers: list[Stated] = []
    missing: list[str] = []
    pair = None
    near = curve_of([item for item in only_of(series, "latency") if item.within == _NODE])
    if pingpong is None and near is not None and alone and _NODE in sizes:
        rates = curve_of([item for item in only_of(series, "bandwidth") if item.within == _NODE])
        numbers += _within_one_node(near, rates, series)
        nodes, where = _most_nodes(series, sizes[_NODE])
        until = f"; {where} ran on {nodes}, and this machine is one until then" if nodes > 1 else ""
        between = (
            "network between nodes: a ping-pong between two nodes (osu_latency), or --on MACHINE "
            "for another's"
        )
        missing.append(f"{between}{until}")
        return NetworkPart(tuple(numbers), tuple(missing), tuple(notes))
    if pingpong is None:
        missing.append("network.startup and bandwidth: a ping-pong between two nodes (osu_latency)")
    else:
        window = next((item.window for item in windows if item.window), 64)
        pair = estimate_pair(pingpong, rates, window)
        notes += pair.notes
        numbers += _pair_numbers(pair, rates)
    if pingpong is not None and rates is None:
        missing.append(
            "network.overhead and port_bandwidth: a window of messages (osu_bw); until then "
            "messages at once share nothing"
        )
    numbers += _saturation(series)
    notes += _more_of_many(series, pair)
    numbers += _levels(series, sizes, pair, missing)
    return NetworkPart(tuple(numbers), tuple(missing), tuple(notes))


def _most_nodes(series: Sequence[Series], cores: int) -> tuple[int, str]:
    """Return on how many nodes of so many cores an output ran at least, and which."""
    counts = [
        (item.nodes or -(-item.processes // cores), item.where) for item in series if item.processes
    ]
    return max(counts, default=(1, ""))


def _within_one_node(
    pingpong: Curve, rates: Curve | None, series: Sequence[Series]
) -> Iterator[Stated]:
    """Yield what messages cost on a machine of one node.

    Its processes copy messages themselves, so that a window of them takes its sender's time.
    """
    window = next(
        (item.window for item in only_of(series, "bandwidth") if item.within == _NODE), None
    )
    pair = estimate_pair(pingpong, rates, window or 64)
    copying = 0.0
    if pair.port_bandwidth is not None and rates is not None:
        fastest = max(piece.bandwidth * piece.efficiency for piece in pair.pieces)
        copying = min(1 / pair.port_bandwidth, _MOST_COPYING / fastest)
    alike = tuple(
        attrs.evolve(
            piece,
            bandwidth=1 / (1 / (piece.bandwidth * piece.efficiency) - copying),
            efficiency=1.0,
            overhead=pair.pieces[0].overhead,
        )
        for piece in pair.pieces
    )
    yield Stated("nodes.count", 1, "assumed: no ping-pong is between two nodes")
    yield from _pair_numbers(attrs.evolve(pair, pieces=alike, port_bandwidth=None), None)
    if copying and rates is not None:
        text = f"{copying * 1e9:.4g} ns/B"
        yield Stated("network.overhead_per_byte", text, f"measured: the largest of {rates.source}")


def _unplaced(series: Sequence[Series]) -> Iterator[str]:
    """Name outputs of pairs that may have been on one node or on two."""
    pairs = [item for item in series if item.benchmark in BETWEEN_TWO and item.memory == "host"]
    open_pairs = [item for item in pairs if item.within == FIRST]
    if open_pairs:
        yield (
            f"{_files(open_pairs, series, whole=True)}: pairs that may be on one node, as the "
            "first of many mostly are, or on two; left out: --within node=FILES or --within "
            "network=FILES says which"
        )
    apart = [item for item in pairs if not item.within and item.nodes is None]
    if apart:
        yield (
            f"{_files(apart, series, whole=True)}: taken as between two nodes, which the output "
            "does not say; --within node=FILES says that its processes were on one"
        )


def _alone(series: Sequence[Series]) -> Iterator[str]:
    """Name windows of a level of which no ping-pong is there."""
    known = {item.within for item in only_of(series, "latency")}
    windows = [
        item
        for benchmark in ("bandwidth", "pairs")
        for item in only_of(series, benchmark)
        if item.within not in {"", FIRST, *known}
    ]
    if windows:
        yield (
            f"{_files(windows, series)}: windows of messages alone tell no startup within a "
            f"{windows[0].within}; left out: add its ping-pong"
        )


def _too_many(series: Sequence[Series], sizes: Mapping[str, int]) -> Iterator[str]:
    """Name pairs of more processes than the level that they are said to be within has cores."""
    for item in only_of(series, "pairs"):
        size = sizes.get(item.within)
        if size is not None and 2 * (item.pairs or 0) > size:
            yield (
                f"{item.where}: {2 * (item.pairs or 0)} processes are not within a {item.within} "
                f"of {size} cores; left out"
            )


def _files(series: Sequence[Series], among: Sequence[Series], *, whole: bool = False) -> str:
    names = [item.file for item in series]
    return called(names, {item.file for item in among}, whole=whole)


def _saturation(series: Sequence[Series]) -> Iterator[Stated]:
    """Yield the most that all processes, or pairs on more than two nodes, carry together."""
    totals = [
        (value.value, item, value.line)
        for item in series
        if item.benchmark == "saturation" or _is_wide(item)
        for value in item.values
    ]
    if totals:
        total, item, line = max(totals, key=lambda entry: entry[0])
        who = f"{item.pairs} pairs" if item.pairs else f"{item.processes} processes"
        source = f"measured: {item.tool}, {_at(item, line)}, {who} at once"
        yield Stated("network.saturation", quantity(total, "B/s"), source)


def _is_wide(item: Series) -> bool:
    return item.benchmark == "pairs" and not item.within and (item.nodes or 0) > 2


def _more_of_many(series: Sequence[Series], pair: PairEstimate | None) -> Iterator[str]:
    """Say where several pairs of two nodes have more together than the port of one pair."""
    totals = [
        (value.value, item, value.line)
        for item in only_of(series, "pairs")
        if not item.within and not _is_wide(item) and (item.pairs or 0) > 1
        for value in item.values
    ]
    if not totals or pair is None or pair.port_bandwidth is None:
        return
    total, item, line = max(totals, key=lambda entry: entry[0])
    if total > _MORE * pair.port_bandwidth:
        yield (
            f"{item.pairs} pairs have {total / 1e9:.4g} GB/s together ({_at(item, line)}), and a "
            f"window of one pair {pair.port_bandwidth / 1e9:.4g}: a port carries more than one "
            "process fills, or some of the pairs are within a node, which that output does not "
            "say; network.port_bandwidth is that of one pair"
        )


def _at(item: Series, line: int) -> str:
    return f"{item.where.rpartition(':')[0]}:{line}"


def _pair_numbers(pair: PairEstimate, rates: Curve | None) -> Iterator[Stated]:
    first = pair.pieces[0]
    source = f"fitted: {first.pingpong.source}; {_error(first)}"
    spread = _spread(first)
    yield Stated("network.startup", quantity(first.startup, "s", spread), source)
    yield Stated("network.bandwidth", quantity(first.bandwidth, "B/s", spread), source)
    if first.overhead is not None and first.windows is not None:
        source = f"fitted: {first.windows.source}: a window's time for each of its messages"
        yield Stated(
            "network.overhead", quantity(first.overhead, "s", _window_spread(first)), source
        )
    if pair.port_bandwidth is not None and rates is not None:
        source = f"measured: the largest of {rates.source}"
        text = quantity(pair.port_bandwidth, "B/s", pair.port_spread)
        yield Stated("network.port_bandwidth", text, source)
        source = "assumed: messages share a node's port, as a window of them does"
        yield Stated("network.contention", "fair", source)
    if (limit := _eager_limit(pair.pieces)) is not None:
        size, rise, before, after = limit
        source = (
            f"fitted: the time of one message rises by {rise * 1e6:.3g} us between "
            f"{before} and {after}"
        )
        yield Stated("network.eager_limit", size_text(size), source)
    if len(pair.pieces) > 1:
        yield Stated("network.sizes", *_sizes(pair))


def _spread(piece: Piece) -> float:
    return max(piece.line.error, min(point.spread for point in piece.pingpong.points))


def _window_spread(piece: Piece) -> float:
    """Return how far a window's values are from those of its piece, relative to them."""
    if piece.windows is None or not piece.windows.points:
        return 0.0
    repeats = min(point.spread for point in piece.windows.points)
    return max(piece.window_error, repeats)


def _error(piece: Piece) -> str:
    error = 100 * max(piece.line.error, 1e-4)
    return f"startup + bytes / bandwidth is within {error:.2g} % in the median"


def _sizes(pair: PairEstimate) -> tuple[list[dict[str, Any]], str]:
    entries: list[dict[str, Any]] = []
    sources: list[str] = []
    first = pair.pieces[0]
    if first.efficiency < 1:
        entries.append({"least": "0 B", "efficiency": round(first.efficiency, 4)})
    for before, piece in pairwise(pair.pieces):
        spread = _spread(piece)
        entry: dict[str, Any] = {
            "least": size_text(piece.least),
            "startup": quantity(piece.startup, "s", spread),
            "bandwidth": quantity(piece.bandwidth, "B/s", spread),
        }
        if piece.overhead != before.overhead:
            entry["overhead"] = quantity(piece.overhead or 0.0, "s", _window_spread(piece))
        if piece.efficiency != before.efficiency:
            spread = piece.efficiency * _window_spread(piece)
            entry["efficiency"] = f"{piece.efficiency:.4g} +- {spread:.2g}"
        entries.append(entry)
        sources.append(f"from {size_text(piece.least)} on {piece.pingpong.source}, {_error(piece)}")
    return entries, "fitted: " + "; ".join(sources)


def _eager_limit(pieces: Sequence[Piece]) -> tuple[float, float, str, str] | None:
    """Return the last size below the largest rise of the time, the rise, and both places."""
    jumps = []
    for before, after in pairwise(pieces):
        last = before.pingpong.points[-1]
        rise = after.line.at(after.least) - before.line.at(after.least)
        large = rise > max(_LEAST_JUMP, _JUMP * before.line.at(after.least))
        if large and _EAGER[0] <= last.size < _EAGER[1]:
            first = after.pingpong.points[0]
            jumps.append((last.size, rise, last.where[0], first.where[0]))
    return max(jumps, key=lambda jump: jump[1]) if jumps else None


def _levels(
    series: Sequence[Series],
    sizes: Mapping[str, int],
    pair: PairEstimate | None,
    missing: list[str],
) -> Iterator[Stated]:
    near = [item for item in only_of(series, "latency") if item.within not in {"", FIRST}]
    names = dict.fromkeys(item.within for item in near)
    entries: list[tuple[int, dict[str, Any]]] = []
    sources = []
    for name in names:
        curve = curve_of([item for item in near if item.within == name])
        if curve is None:
            continue
        if name not in sizes:
            missing.append(
                f"network.levels {name!r}: how many cores a {name} has (--level {name}=N)"
            )
            continue
        overhead = (pair.pieces[0].overhead if pair else None) or 0.0
        line = line_through(curve.points, 1e-15)
        startup = max(0.0, line.startup - 2 * overhead)
        entry: dict[str, Any] = {"name": name, "size": sizes[name]}
        spread = max(line.error, 0.01)
        entry["startup"] = quantity(startup, "s", spread)
        entry["bandwidth"] = quantity(1 / line.per_byte, "B/s", spread)
        shared = _shared(series, name, sizes[name])
        if shared is not None:
            entry["shared"] = quantity(shared[0], "B/s")
            sources.append(f"{name} shared {shared[1]}")
        entries.append((sizes[name], entry))
        sources.append(f"{name} {curve.source}, within {100 * line.error:.2g} % in the median")
    if entries:
        levels = [entry for _, entry in sorted(entries, key=lambda item: item[0])]
        yield Stated("network.levels", levels, "fitted: " + "; ".join(sources))
    elif not near:
        missing.append(
            "network.levels: a ping-pong within a node (--within node=FILE); until then messages "
            "within a node are taken to cost what those between nodes cost, but pass no port"
        )


def _shared(series: Sequence[Series], name: str, size: int) -> tuple[float, str] | None:
    """Return the most that several pairs of a level had together, on its own cores.

    Without such, it is what the longest messages of a ring of all its processes had.
    """
    totals = [
        (value.value, f"{item.tool}, {item.where}")
        for item in only_of(series, "pairs")
        if item.within == name and 1 < (item.pairs or 0) <= size // 2
        for value in item.values
    ]
    if totals:
        return max(totals)
    rings = [
        (size * longest.size / longest.value, f"{item.tool} sendrecv, {_at(item, longest.line)}")
        for item in only_of(series, "sendrecv")
        if item.processes == size and item.nodes in {None, 1} and item.within in {"", name}
        if (longest := max(item.values, key=lambda value: value.size)).size >= _LONG
    ]
    return sorted(rings)[len(rings) // 2] if rings else None
