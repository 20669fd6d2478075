"""A step as a program: each rank's kernels and messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import attrs

from parcast.model import Query, Workload
from parcast.program import read_source
from parcast.program.matching import PREPARATION
from parcast_training.steps.asking import step_at
from parcast_training.steps.checkpoint import checkpoint_notes
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.schedule import Pass
from parcast_training.steps.segments import Beside, Group, Repeat, Ring, Segment, Work
from parcast_training.steps.step import Step
from parcast_training.steps.unmodelled import configuration_notes

_FORWARD, _BACKWARD, _RING, _TIED = 0, 1, 2, 3

T = TypeVar("T")

#: Makes the lines of a pass, of a piece and a microbatch as texts.
_Emit = Callable[[str, str], list[str]]


def lower(workload: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``training`` workload as a ``program`` of its kernels' times on the machine."""
    text = source(step_at(query))
    content = read_source(text, f"{workload.name} as a program", workload.name).content
    notes = (
        "kernels take the times that the accelerator's roofline gives",
        *checkpoint_notes(query),
        *configuration_notes(job_at(query)),
    )
    return attrs.evolve(workload, kind="program", content=content, parameters={}), notes


def cost(query: Query) -> float:
    """Return the seconds of making the program ready, which is another one on another machine."""
    workload, _ = lower(query.workload, query)
    unrolled = workload.content.at(attrs.evolve(query, workload=workload))
    return float(PREPARATION * unrolled.count())


def source(step: Step) -> str:
    """Return a step as the text of a program."""
    return "\n".join(_Writer(step).lines()) + "\n"


class _Writer:
    """Writes a step's program; groups get a name when they are first used."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._layout = step.layout
        self._groups: dict[Group, int] = {}
        self._loops = 0

    def lines(self) -> list[str]:
        body = [*self._pipeline(), *self._tail()]
        layout = self._layout
        head = [
            "def program(rank, size):",
            f"    stage = rank // {layout.stage_ranks}",
            *(f"    {line}" for line in self._positions()),
        ]
        return head + [f"    {line}" for line in body]

    def _positions(self) -> Iterator[str]:
        for group, number in self._groups.items():
            stride, size = group.stride, group.size
            yield f"at{number} = rank // {stride} % {size}"
            yield f"to{number} = rank + ((at{number} + 1) % {size} - at{number}) * {stride}"
            back = f"(at{number} + {size - 1}) % {size} - at{number}"
            yield f"from{number} = rank + ({back}) * {stride}"

    def _pipeline(self) -> list[str]:
        layout, m = self._layout, self._layout.microbatches
        if self._step.zero_bubble:
            return self._zero_bubble()
        count = m * layout.chunks
        slack = f"{layout.pp - 1} - stage"
        if layout.chunks > 1:
            slack = f"2 * ({slack}) + {(layout.chunks - 1) * layout.pp}"
        return [
            f"warm = min({slack}, {count})",
            "for k in range(warm):",
            *_indent(self._forward("k")),
            f"for k in range({count} - warm):",
            *_indent(self._forward("(warm + k)")),
            *_indent(self._backward("k")),
            f"for k in range({count} - warm, {count}):",
            *_indent(self._backward("k")),
        ]

    def _zero_bubble(self) -> list[str]:
        layout, m = self._layout, self._layout.microbatches
        weights = self._branches(self._passes("W", "0", "0"))
        return [
            f"warm = min({layout.pp - 1} - stage, {m})",
            f"late = min(stage, {m})",
            f"for k in range({m} + warm):",
            f"    if k < {m}:",
            *_indent(_indent(self._forward("k"))),
            "    if k >= warm:",
            *_indent(_indent(self._backward("(k - warm)"))),
            "        if k - warm >= late:",
            *_indent(_indent(_indent(weights))),
            "for k in range(late):",
            *_indent(weights),
        ]

    def _forward(self, k: str) -> list[str]:
        return self._sent_on("F", *self._position(k))

    def _backward(self, k: str) -> list[str]:
        chunk, microbatch = self._position(k)
        if self._layout.chunks > 1:
            chunk = f"({self._layout.chunks - 1} - {chunk})"
        return self._sent_on("B", chunk, microbatch)

    def _position(self, k: str) -> tuple[str, str]:
        pp, v = self._layout.pp, self._layout.chunks
        if v == 1:
            return "0", k
        return f"({k} % {pp * v} // {pp})", f"({k} // {pp * v} * {pp} + {k} % {pp})"

    def _sent_on(self, kind: str, chunk: str, microbatch: str) -> list[str]:
        """Return a pass between its message from one stage and its message to another."""
        layout, ranks = self._layout, self._layout.stage_ranks
        run = self._branches(self._passes(kind, chunk, microbatch))
        if layout.pp == 1:
            return run
        top, last = layout.chunks - 1, layout.pp - 1
        tag, size = (_FORWARD if kind == "F" else _BACKWARD), repr(self._step.hop_bytes)
        up, down = "rank + {n}", "rank - {n}"
        near, wrap = ranks, last * ranks
        start, end = ("stage == 0", f"stage == {last}")
        if kind == "B":
            up, down, start, end = down, up, end, start
        first, final = (f"{chunk} == 0", f"{chunk} == {top}")
        if kind == "B":
            first, final = final, first
        receive = [f"if {_not(start)}:", f"    recv({down.format(n=near)}, tag={tag})"]
        send = [f"if {_not(end)}:", f"    send({up.format(n=near)}, {size}, tag={tag})"]
        if top:
            receive += [f"elif {_not(first)}:", f"    recv({up.format(n=wrap)}, tag={tag})"]
            send += [f"elif {_not(final)}:", f"    send({down.format(n=wrap)}, {size}, tag={tag})"]
        return [*receive, *run, *send]

    def _passes(
        self, kind: str, chunk: str, microbatch: str
    ) -> list[tuple[list[str], tuple[Segment, ...]]]:
        """Return what a pass is in each place: its conditions, and segments.

        Places of a sort of microbatches have other stages or pieces each; the last sort's are for
        all microbatches that no sort before it is for.
        """
        layout, places = self._layout, list[tuple[list[str], tuple[Segment, ...]]]()
        for micro, condition in self._microbatches(kind, microbatch):
            stages = [
                tuple(
                    self._step.segments(stage, Pass(kind, piece, micro))  # type: ignore[arg-type]
                    for piece in range(layout.chunks)
                )
                for stage in range(layout.pp)
            ]
            for of_stages, pieces in _ranges("stage", stages):
                for of_pieces, segments in _ranges(chunk, pieces):
                    conditions = [c for c in (of_stages, of_pieces, condition) if c]
                    places.append((conditions, segments))
        return places

    def _microbatches(self, kind: str, microbatch: str) -> Iterator[tuple[int, str]]:
        """Yield a microbatch of each sort, and its condition; the last sort has none."""
        m, following = self._layout.microbatches, self._step.following
        if kind == "F":
            if m > 1:
                yield 0, f"{microbatch} == 0"
            yield m - 1, ""
            return
        if m > 1:
            yield m - 1, f"{microbatch} == {m - 1}"
        if following.start:
            yield following[0], f"{following.start} <= {microbatch} < {m - 1}"
        yield 0, ""

    def _branches(self, places: list[tuple[list[str], tuple[Segment, ...]]]) -> list[str]:
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
                *_indent(self._run(segments) or ["pass"]),
            ]
        if not lines:
            return self._run(default)
        return [*lines, "else:", *_indent(self._run(default) or ["pass"])]

    def _tail(self) -> list[str]:
        step, last = self._step, self._layout.pp - 1
        lines = self._by_stage([step.after(stage)[0] for stage in range(last + 1)])
        if step.tied_bytes:
            away = last * self._layout.stage_ranks
            for sign, stage in (("+", 0), ("-", last)):
                to = f"rank {sign} {away}"
                line = f"    sendrecv({to}, {step.tied_bytes!r}, {to}, tag={_TIED})"
                lines += [f"if stage == {stage}:", line, line]
        return lines + self._by_stage([step.after(stage)[1] for stage in range(last + 1)])

    def _by_stage(self, stages: list[tuple[Segment, ...]]) -> list[str]:
        return self._branches([([text], segments) for text, segments in _ranges("stage", stages)])

    def _run(self, segments: Sequence[Segment]) -> list[str]:
        return [line for segment in segments for line in self._segment(segment)]

    def _segment(self, segment: Segment) -> list[str]:
        if isinstance(segment, Work):
            return [f"elapse({segment.seconds!r})"]
        if isinstance(segment, Repeat):
            body = self._run(segment.body)
            return (
                [f"for {self._loop()} in range({segment.count}):", *_indent(body)] if body else []
            )
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
            return [*lines, f"    sendrecv({to}, {ring.bytes!r}, {back}, tag={_RING})"]
        return [
            *lines,
            f"    isend({to}, {ring.bytes!r}, tag={_RING})",
            f"    irecv({back}, tag={_RING})",
            f"    elapse({seconds!r})",
            "    waitall()",
        ]

    def _loop(self) -> str:
        self._loops += 1
        return f"i{self._loops}"


def _ranges(name: str, values: Sequence[T]) -> Iterator[tuple[str, T]]:
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


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _not(condition: str) -> str:
    return condition.replace("==", "!=")
