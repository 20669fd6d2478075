"""Segments as lines of a program, each where it is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from parcast_training.steps.segments import Beside, Group, Repeat, Ring, Segment, Work

#: Of messages forward and backward between stages, in a ring, and of tied weights.
FORWARD, BACKWARD, RING, TIED = 0, 1, 2, 3

T = TypeVar("T")


class SegmentText:
    """Writes segments; groups get a name when they are first used."""

    def __init__(self) -> None:
        self._groups: dict[Group, int] = {}
        self._loops = 0

    def positions(self) -> Iterator[str]:
        """Yield the lines that say where a rank is in each group, and its neighbors there."""
        for group, number in self._groups.items():
            stride, size = group.stride, group.size
            rank = f"(rank - {group.start})" if group.start else "rank"
            yield f"at{number} = {rank} // {stride} % {size}"
            yield f"to{number} = rank + ((at{number} + 1) % {size} - at{number}) * {stride}"
            back = f"(at{number} + {size - 1}) % {size} - at{number}"
            yield f"from{number} = rank + ({back}) * {stride}"

    def branches(self, places: list[tuple[list[str], tuple[Segment, ...]]]) -> list[str]:
        """Return the segments of each place; the last place stands for all others.

        Those of its kind before it are left out, as far as no other place is between them.
        """
        default = places[-1][1]
        while places and places[-1][1] == default:
            places = places[:-1]
        lines: list[str] = []
        for conditions, segments in places:
            word = "elif" if lines else "if"
            lines += [
                f"{word} {' and '.join(conditions)}:",
                *indent(self.run(segments) or ["pass"]),
            ]
        if not lines:
            return self.run(default)
        return [*lines, "else:", *indent(self.run(default) or ["pass"])]

    def by_stage(self, stages: Sequence[tuple[Segment, ...]]) -> list[str]:
        """Return the segments of each stage."""
        return self.branches([([text], segments) for text, segments in ranges("stage", stages)])

    def run(self, segments: Sequence[Segment]) -> list[str]:
        """Return the lines of segments."""
        return [line for segment in segments for line in self._segment(segment)]

    def _segment(self, segment: Segment) -> list[str]:
        if isinstance(segment, Work):
            return [f"elapse({segment.seconds!r})"]
        if isinstance(segment, Repeat):
            body = self.run(segment.body)
            return [f"for {self._loop()} in range({segment.count}):", *indent(body)] if body else []
        if isinstance(segment, Beside):
            lines = []
            for ring in segment.rings:
                seconds = segment.share * ring.hop.wire
                lines += self._ring(ring, seconds)
            return lines
        return self._ring(segment, None)

    def _ring(self, ring: Ring, seconds: float | None) -> list[str]:
        if not ring.steps:
            return []
        number = self._groups.setdefault(ring.group, len(self._groups))
        to, back, loop = f"to{number}", f"from{number}", self._loop()
        if ring.rotating:
            at, size, stride = f"at{number}", ring.group.size, ring.group.stride
            to = f"rank + (({at} + {loop} + 1) % {size} - {at}) * {stride}"
            back = f"rank + (({at} + {size - 1} - {loop}) % {size} - {at}) * {stride}"
        lines = [f"for {loop} in range({ring.steps}):"]
        if seconds is None:
            return [*lines, f"    sendrecv({to}, {ring.bytes!r}, {back}, tag={RING})"]
        return [
            *lines,
            f"    isend({to}, {ring.bytes!r}, tag={RING})",
            f"    irecv({back}, tag={RING})",
            f"    elapse({seconds!r})",
            "    waitall()",
        ]

    def _loop(self) -> str:
        self._loops += 1
        return f"i{self._loops}"


def ranges(name: str, values: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Yield the conditions in which a number has equal values, and these.

    Of neighbors with equal values there is one condition, and none where all are equal.
    """
    start = 0
    for end in range(1, len(values) + 1):
        if end < len(values) and values[end] == values[start]:
            continue
        if end - start == len(values):
            yield "", values[start]
        elif end - start == 1:
            yield f"{name} == {start}", values[start]
        else:
            yield f"{start} <= {name} < {end}", values[start]
        start = end


def indent(lines: Sequence[str]) -> list[str]:
    """Return lines as a block's."""
    return [f"    {line}" for line in lines]
