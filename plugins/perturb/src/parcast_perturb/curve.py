"""The makespan as a function of added latency: its corners, slopes and tolerance.

The makespan is a maximum of sums, so it is convex and made of straight pieces; a piece's slope
is how many latencies stand on the critical path. Two pieces that meet give a corner, and a
piece between them is found where their lines cross (as in LLAMP, which solves a linear
program for it: arXiv 2404.14193).
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from parcast_perturb.path import critical_path
from parcast_perturb.perturbation import Perturbation, Recorded
from parcast_perturb.propagation.running import propagate
from parcast_perturb.span import spans
from parcast_traces.trace.columns import Trace

#: More corners than these are not looked for.
MOST = 200


@attrs.frozen
class Piece:
    """A straight piece: the makespan at one point on it, and its slope there, in ticks."""

    at: float
    makespan: float
    slope: float

    def value(self, latency: float) -> float:
        """Return the makespan that this piece's line has at a latency."""
        return self.makespan + self.slope * (latency - self.at)


@attrs.frozen
class Curve:
    """Pieces in order of latency, and the corners between them."""

    pieces: tuple[Piece, ...]
    corners: tuple[float, ...]
    complete: bool

    def tolerance(self, share: float) -> float | None:
        """Return the most latency that makes the makespan longer by at most this share.

        None if it lies beyond the last piece that was looked at.
        """
        first = self.pieces[0]
        limit = first.value(0.0) * (1 + share)
        bounds = (*self.corners, float("inf"))
        for piece, bound in zip(self.pieces, bounds, strict=True):
            if piece.slope > 0:
                latency = piece.at + (limit - piece.makespan) / piece.slope
                if latency <= bound:
                    return latency
        return None


def latency_curve(trace: Trace, recorded: Recorded, policy: str, largest: float) -> Curve:
    """Return the makespan for added latencies from 0 to ``largest``, in ticks.

    Raises
    ------
    TraceError, UnsupportedError
        As `propagate` does.
    """

    def piece_at(latency: float) -> Piece:
        added = Perturbation.of(latency=latency)
        delays = propagate(trace, added, recorded, policy, causes=True)
        assert delays.cause is not None
        durations = spans(trace, delays.final)[:, 0]
        last = int(durations.argmax())
        path = critical_path(trace, delays.cause, last)
        return Piece(latency, float(durations[last]), float(path.messages))

    pieces, corners = _between(piece_at, piece_at(0.0), piece_at(largest), [MOST])
    return Curve(tuple(pieces), tuple(corners), complete=len(corners) < MOST)


def _between(
    piece_at: Callable[[float], Piece], low: Piece, high: Piece, left: list[int]
) -> tuple[list[Piece], list[float]]:
    """Return the pieces from one to another, and the corners between them."""
    scale = 1e-12 * max(abs(low.makespan), abs(high.makespan), 1.0)
    if abs(low.value(high.at) - high.makespan) <= scale:
        return [low], []
    if high.slope <= low.slope:  # at a corner the path may be that of either side
        return [low, high], [high.at]
    crossing = low.at + (high.value(low.at) - low.makespan) / (low.slope - high.slope)
    middle = piece_at(crossing)
    left[0] -= 1
    if left[0] <= 0 or middle.makespan - low.value(crossing) <= scale:
        return [low, high], [crossing]
    first, first_corners = _between(piece_at, low, middle, left)
    second, second_corners = _between(piece_at, middle, high, left)
    return [*first[:-1], *second], [*first_corners, *second_corners]
