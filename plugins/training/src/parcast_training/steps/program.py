"""A step as a program: each rank's kernels and messages."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from parcast.model import Query, Workload
from parcast.program import read_source
from parcast.program.matching import PREPARATION
from parcast_training.steps.asking import step_at
from parcast_training.steps.checkpoint import checkpoint_notes
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.pipeline import Kind, Pass
from parcast_training.steps.program_dualpipe import DualPipeText
from parcast_training.steps.program_segments import (
    BACKWARD,
    FORWARD,
    TIED,
    SegmentText,
    indent,
    ranges,
)
from parcast_training.steps.segments import Segment
from parcast_training.steps.step import Step
from parcast_training.steps.unmodelled import configuration_notes

#: The key of a query's program, which takes as long to write as to solve.
_PROGRAM = "program of a step of training"


def lower(_: Workload, query: Query) -> tuple[Workload, tuple[str, ...]]:
    """Return a ``training`` workload as a ``program`` of its kernels' times on the machine."""
    notes = (
        "kernels take the times that the accelerator's roofline gives",
        *checkpoint_notes(query),
        *configuration_notes(job_at(query)),
    )
    return query.once(_PROGRAM, _program), notes


def cost(query: Query) -> float:
    """Return the seconds of making the program ready, which is another one on another machine."""
    workload = query.once(_PROGRAM, _program)
    unrolled = workload.content.at(attrs.evolve(query, workload=workload))
    return float(PREPARATION * unrolled.count())


def _program(query: Query) -> Workload:
    workload = query.workload
    text = source(step_at(query))
    content = read_source(text, f"{workload.name} as a program", workload.name).content
    return attrs.evolve(workload, kind="program", content=content, parameters={})


def source(step: Step) -> str:
    """Return a step as the text of a program."""
    return "\n".join(_Writer(step).lines()) + "\n"


class _Writer:
    """Writes a step's program."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._layout = step.layout
        self._text = SegmentText()

    def lines(self) -> list[str]:
        body = [*self._pipeline(), *self._tail()]
        layout = self._layout
        head = [
            "def program(rank, size):",
            f"    stage = rank // {layout.stage_ranks}",
            *(f"    {line}" for line in self._text.positions()),
        ]
        return head + [f"    {line}" for line in body]

    def _pipeline(self) -> list[str]:
        layout, m = self._layout, self._layout.microbatches
        if layout.bidirectional:
            return DualPipeText(self._step, self._text).lines()
        if self._step.zero_bubble:
            return self._zero_bubble()
        count = m * layout.chunks
        slack = f"{layout.pp - 1} - stage"
        if layout.chunks > 1:
            slack = f"2 * ({slack}) + {(layout.chunks - 1) * layout.pp}"
        if layout.pairs:
            slack += " + 1"
        return [
            f"warm = min({slack}, {count})",
            "for k in range(warm):",
            *indent(self._forward("k")),
            f"for k in range({count} - warm):",
            *indent(self._steady()),
            f"for k in range({count} - warm, {count}):",
            *indent(self._backward("k")),
        ]

    def _zero_bubble(self) -> list[str]:
        layout, m = self._layout, self._layout.microbatches
        weights = self._text.branches(self._passes("W", "0", "0"))
        return [
            f"warm = min({layout.pp - 1} - stage, {m})",
            f"late = min(stage, {m})",
            f"for k in range({m} + warm):",
            f"    if k < {m}:",
            *indent(indent(self._forward("k"))),
            "    if k >= warm:",
            *indent(indent(self._backward("(k - warm)", "I"))),
            "        if k - warm >= late:",
            *indent(indent(indent(weights))),
            "for k in range(late):",
            *indent(weights),
        ]

    def _steady(self) -> list[str]:
        """Return a forward and a backward pass, one after the other or as a pair."""
        if not self._layout.pairs:
            return [*self._forward("(warm + k)"), *self._backward("k")]
        forward, _ = self._position("(warm + k)")
        backward, _ = self._back("k")
        forward_messages, backward_messages = (
            self._messages("F", forward), self._messages("B", backward),
        )  # fmt: skip
        return [
            *forward_messages[0], *backward_messages[0],
            *self._text.branches(self._pairs(forward, backward)),
            *forward_messages[1], *backward_messages[1],
        ]  # fmt: skip

    def _forward(self, k: str) -> list[str]:
        return self._sent_on("F", *self._position(k))

    def _backward(self, k: str, kind: Kind = "B") -> list[str]:
        return self._sent_on(kind, *self._back(k))

    def _back(self, k: str) -> tuple[str, str]:
        """Return the piece and the microbatch of a stage's k-th backward pass."""
        chunk, microbatch = self._position(k)
        if self._layout.chunks > 1:
            chunk = f"({self._layout.chunks - 1} - {chunk})"
        return chunk, microbatch

    def _position(self, k: str) -> tuple[str, str]:
        pp, v = self._layout.pp, self._layout.chunks
        if v == 1:
            return "0", k
        return f"({k} % {pp * v} // {pp})", f"({k} // {pp * v} * {pp} + {k} % {pp})"

    def _sent_on(self, kind: Kind, chunk: str, microbatch: str) -> list[str]:
        """Return a pass between its message from one stage and its message to another."""
        receive, send = self._messages(kind, chunk)
        run = self._text.branches(self._passes(kind, chunk, microbatch))
        return [*receive, *run, *send]

    def _messages(self, kind: Kind, chunk: str) -> tuple[list[str], list[str]]:
        """Return the message that a pass waits for, and the one that it sends."""
        layout, ranks = self._layout, self._layout.stage_ranks
        if layout.pp == 1:
            return [], []
        top, last = layout.chunks - 1, layout.pp - 1
        tag, size = (FORWARD if kind == "F" else BACKWARD), repr(self._step.hop_bytes)
        up, down = "rank + {n}", "rank - {n}"
        near, wrap = ranks, last * ranks
        start, end = ("stage == 0", f"stage == {last}")
        if kind != "F":
            up, down, start, end = down, up, end, start
        first, final = (f"{chunk} == 0", f"{chunk} == {top}")
        if kind != "F":
            first, final = final, first
        receive = [f"if {_not(start)}:", f"    recv({down.format(n=near)}, tag={tag})"]
        send = [f"if {_not(end)}:", f"    send({up.format(n=near)}, {size}, tag={tag})"]
        if top:
            receive += [f"elif {_not(first)}:", f"    recv({up.format(n=wrap)}, tag={tag})"]
            send += [f"elif {_not(final)}:", f"    send({down.format(n=wrap)}, {size}, tag={tag})"]
        return receive, send

    def _pairs(self, forward: str, backward: str) -> list[tuple[list[str], tuple[Segment, ...]]]:
        """Return what a pair of passes is in each place; no microbatch of one is special."""
        chunks, last = range(self._layout.chunks), self._layout.microbatches - 1
        stages = [
            tuple(
                tuple(
                    self._step.segments(stage, Pass("F", f, last, beside=Pass("B", b, 0)))
                    for b in chunks
                )
                for f in chunks
            )
            for stage in range(self._layout.pp)
        ]
        return [
            ([c for c in (of_stage, of_forward, of_backward) if c], segments)
            for of_stage, pieces in ranges("stage", stages)
            for of_forward, behind in ranges(forward, pieces)
            for of_backward, segments in ranges(backward, behind)
        ]

    def _passes(
        self, kind: Kind, chunk: str, microbatch: str
    ) -> list[tuple[list[str], tuple[Segment, ...]]]:
        """Return what a pass is in each place: its conditions, and segments.

        Places of a sort of microbatches have other stages or pieces each; the last sort's are for
        all microbatches that no sort before it is for.
        """
        layout, places = self._layout, list[tuple[list[str], tuple[Segment, ...]]]()
        for micro, condition in self._microbatches(kind, microbatch):
            stages = [
                tuple(
                    self._step.segments(stage, Pass(kind, piece, micro))
                    for piece in range(layout.chunks)
                )
                for stage in range(layout.pp)
            ]
            for of_stages, pieces in ranges("stage", stages):
                for of_pieces, segments in ranges(chunk, pieces):
                    conditions = [c for c in (of_stages, of_pieces, condition) if c]
                    places.append((conditions, segments))
        return places

    def _microbatches(self, kind: Kind, microbatch: str) -> Iterator[tuple[int, str]]:
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

    def _tail(self) -> list[str]:
        step, last = self._step, self._layout.pp - 1
        lines = self._text.by_stage([step.after(stage)[0] for stage in range(last + 1)])
        if step.tied_bytes:
            away = last * self._layout.stage_ranks
            for sign, stage in (("+", 0), ("-", last)):
                to = f"rank {sign} {away}"
                line = f"    sendrecv({to}, {step.tied_bytes!r}, {to}, tag={TIED})"
                lines += [f"if stage == {stage}:", line, line]
        return lines + self._text.by_stage([step.after(stage)[1] for stage in range(last + 1)])


def _not(condition: str) -> str:
    return condition.replace("==", "!=")
