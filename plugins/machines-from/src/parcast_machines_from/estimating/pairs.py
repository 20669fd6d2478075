"""Two processes on two nodes: startup, bandwidth, overhead and efficiency by size.

A ping-pong's time is o + t0 + n/(e B) + o_r. A window of w messages and an answer take

- w o, where the sender's overhead is longer than the transfer, else
- w n / (e P), where the port of P is full,

and t0 + o_r of the last message, and the ping-pong's time of the answer. From both benchmarks each
piece between two change points has an o or an e, a t0 and a B.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast.quantities import Line, cut, memoized
from parcast_machines_from.estimating.curves import Curve, line_through

#: The answer to a window has so many bytes.
_ANSWER = 4.0

#: Of a ping-pong's startup, both overheads together are at most this part.
_MOST_OVERHEAD = 0.9

#: Below this part of what the port carries, it is the overhead that limits a window.
_FULL = 0.4


@attrs.frozen
class Piece:
    """What holds for messages of at least so many bytes."""

    least: float
    startup: float
    bandwidth: float  #: of one message, as a machine's file has it
    overhead: float | None  #: None where no window was measured
    efficiency: float
    line: Line
    pingpong: Curve
    windows: Curve | None
    window_error: float  #: the standard deviation of windows from the piece, relative to it


@attrs.frozen
class PairEstimate:
    """A network between two nodes."""

    pieces: tuple[Piece, ...]
    port_bandwidth: float | None  #: None where no window was measured
    port_spread: float
    notes: tuple[str, ...] = ()


def estimate_pair(pingpong: Curve, windows: Curve | None, window: int) -> PairEstimate:
    """Return the network that a ping-pong and a window of messages show.

    Parameters
    ----------
    pingpong
        Times of one message in seconds.
    windows
        Bytes a second of windows; None where there are none.
    window
        Messages of a window.
    """
    if windows is not None:
        windows = attrs.evolve(
            windows, points=tuple(point for point in windows.points if point.size > 0)
        )
    drained = _drained(pingpong, windows, window)
    port = max(drained.values()) if drained else None
    least_slope = 1 / port if port else 0.0
    points = pingpong.points
    spreads = {} if windows is None else {point.size: point.spread for point in windows.points}

    def cost(start: int, stop: int) -> float:
        line = line_through(points[start:stop], min(least_slope, _steepest(pingpong, stop)))
        rates = [
            (drained[point.size], spreads[point.size])
            for point in points[start:stop]
            if point.size in drained
        ]
        sizes = [point.size for point in points[start:stop] if point.size in drained]
        return line.squares + (_window_cost(rates, sizes, port) if port else 0.0)

    bounds = cut(len(points), memoized(cost))
    pieces: list[Piece] = []
    for start, stop in bounds:
        pieces.append(_piece(pingpong, windows, (start, stop), drained, port, pieces))
    notes = _notes(pieces, port)
    spread = max((p.spread for p in windows.points[-3:]), default=0.0) if windows else 0.0
    return PairEstimate(tuple(pieces), port, spread, notes)


def _steepest(pingpong: Curve, stop: int) -> float:
    """Return a time for each byte that no piece's largest message is beyond."""
    point = pingpong.points[stop - 1]
    return point.value / point.size if point.size else 0.0


def _drained(pingpong: Curve, windows: Curve | None, window: int) -> dict[float, float]:
    """Return the bytes a second of each size while the window is on its way."""
    if windows is None:
        return {}
    answer = pingpong.at(_ANSWER)
    first = pingpong.points[0].value
    rates = {}
    for point in windows.points:
        busy = window * point.size / point.value - answer - first
        if busy > 0:
            rates[point.size] = window * point.size / busy
        else:
            rates[point.size] = point.value
    return rates


def _window_cost(
    rates: Sequence[tuple[float, float]], sizes: Sequence[float], port: float
) -> float:
    """Return squared errors of the better of one overhead, and one share of the port."""
    if not rates:
        return 0.0
    values = np.array([rate for rate, _ in rates])
    spreads = np.array([max(spread, 0.02) for _, spread in rates])
    gaps = np.array(sizes) / values
    full = float(np.sum((np.log(values / np.median(values)) / spreads) ** 2))
    if np.median(values) > _FULL * port:
        return full
    return min(full, float(np.sum((np.log(gaps / np.median(gaps)) / spreads) ** 2)))


def _piece(
    pingpong: Curve,
    windows: Curve | None,
    bounds: tuple[int, int],
    drained: dict[float, float],
    port: float | None,
    below: Sequence[Piece],
) -> Piece:
    start, stop = bounds
    before = below[-1] if below else None
    points = pingpong.points[start:stop]
    slope = min(1 / port, _steepest(pingpong, stop)) if port else 0.0
    line = line_through(points, slope)
    low, high = points[0].size, points[-1].size
    least = 0.0 if before is None else low
    sizes = [size for size in drained if low <= size <= high or (before is None and size <= high)]
    own = None
    if windows is not None:
        own = attrs.evolve(
            windows, points=tuple(point for point in windows.points if point.size in set(sizes))
        )
    overhead, efficiency = _limits(sizes, drained, port, before)
    if overhead is not None:
        overhead = min(overhead, _MOST_OVERHEAD / 2 * line.startup)
    per_byte = line.per_byte or (points[-1].value / max(points[-1].size, 1.0))
    received = below[0].overhead if below else overhead  # o_r is as the smallest message's o
    startup = max(0.0, line.startup - (overhead or 0.0) - (received or 0.0))
    bandwidth = 1 / per_byte / efficiency
    if port is not None:
        bandwidth = min(bandwidth, port)
    error = _window_error(sizes, drained, port, overhead, efficiency)
    return Piece(
        least, startup, bandwidth, overhead, efficiency, line, pingpong.part(*bounds), own, error
    )


def _window_error(
    sizes: Sequence[float],
    drained: dict[float, float],
    port: float | None,
    overhead: float | None,
    efficiency: float,
) -> float:
    if port is None or not sizes:
        return 0.0
    errors = [
        np.log(size / drained[size] / max(overhead or 0.0, size / (efficiency * port)))
        for size in sizes
    ]
    return float(np.sqrt(np.mean(np.square(errors))))


def _limits(
    sizes: Sequence[float],
    drained: dict[float, float],
    port: float | None,
    before: Piece | None,
) -> tuple[float | None, float]:
    """Return the overhead and the efficiency of a piece."""
    if port is None:
        return None, 1.0
    inherited = before.overhead if before and before.overhead is not None else 0.0
    if not sizes:
        return inherited, 1.0
    rate = float(np.median([drained[size] for size in sizes]))
    gap = float(np.median([size / drained[size] for size in sizes]))
    if before is None or (rate < _FULL * port and before.efficiency == 1.0):
        return gap, 1.0
    return inherited, min(1.0, rate / port)


def _notes(pieces: Sequence[Piece], port: float | None) -> tuple[str, ...]:
    if port is None:
        return ()
    last = pieces[-1]
    alone = 1 / last.line.per_byte if last.line.per_byte else 0.0
    if alone > 1.05 * last.efficiency * port:
        note = (
            f"one long message alone has {alone / 1e9:.3g} GB/s, and a window of them "
            f"{last.efficiency * port / 1e9:.3g} GB/s together: more at once are slower here, "
            "which no machine's file can say; the window's number is taken"
        )
        return (note,)
    return ()
