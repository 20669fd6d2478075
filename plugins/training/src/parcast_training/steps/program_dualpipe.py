"""The passes of a bidirectional pipeline as lines of a program, in the order of `dualpipe`."""

from __future__ import annotations

from parcast_training.steps.pipeline import Kind, Pass
from parcast_training.steps.program_segments import BACKWARD, FORWARD, SegmentText, indent
from parcast_training.steps.step import Step


class DualPipeText:
    """Writes the passes of a step; ``near`` and ``inward`` say where a rank's stage is."""

    def __init__(self, step: Step, text: SegmentText) -> None:
        self._step, self._text = step, text
        self._layout = step.layout

    def lines(self) -> list[str]:
        """Return the passes of all stages."""
        layout = self._layout
        half, ranks = layout.pp // 2, layout.stage_ranks
        return [
            f"near = min(stage, {layout.pp - 1} - stage)",
            f"inner = {half - 1} - near",
            f"inward = {ranks} - stage // {half} * {2 * ranks}",
            *self._beginning(),
            *self._pairs(),
            *self._ending(),
        ]

    def _beginning(self) -> list[str]:
        return [
            "for k in range(2 * inner):",
            *indent(self._forward(0)),
            "for k in range(near + 1):",
            *indent(self._forward(0)),
            *indent(self._forward(1)),
            "for k in range(inner):",
            *indent(self._backward(1, "I")),
            *indent(self._weights(1)),
            *indent(self._forward(1)),
        ]

    def _pairs(self) -> list[str]:
        pairs = self._layout.microbatches - self._layout.pp
        return [
            "if inner == 0:",
            *indent(self._forward(0)),
            *indent(self._backward(1)),
            "else:",
            *indent(self._pair(0)),
            *self._pair(1),
            f"for k in range({pairs} + near):",
            *indent(self._pair(0)),
            *indent(self._pair(1)),
            "for k in range(inner):",
            *indent(self._backward(1)),
            *indent(self._pair(1)),
        ]

    def _ending(self) -> list[str]:
        return [
            "for k in range(2 * (near + 1)):",
            "    if k % 2 == 0 and k <= near:",
            *indent(indent(self._backward(1))),
            "    elif k % 2 == 0:",
            *indent(indent(self._backward(1, "I"))),
            "    elif k <= near:",
            *indent(indent(self._backward(0))),
            "    else:",
            *indent(indent(self._backward(0, "I"))),
            "for k in range(inner + near + 1):",
            "    if k <= near and (k + near) % 2 == 1:",
            *indent(indent(self._weights(1))),
            "    else:",
            *indent(indent(self._weights(0))),
            "    if k < inner:",
            *indent(indent(self._backward(0, "I"))),
        ]

    def _run(self, run: Pass) -> list[str]:
        """Return a pass on each stage; it does not depend on the microbatch."""
        stages = [self._step.segments(stage, run) for stage in range(self._layout.pp)]
        return self._text.by_stage(stages)

    def _weights(self, chunk: int) -> list[str]:
        return self._run(Pass("W", chunk, 0))

    def _forward(self, chunk: int) -> list[str]:
        return self._sent_on(Pass("F", chunk, 0))

    def _backward(self, chunk: int, kind: Kind = "B") -> list[str]:
        return self._sent_on(Pass(kind, chunk, 0))

    def _pair(self, forward: int) -> list[str]:
        return self._sent_on(Pass("F", forward, 0, beside=Pass("B", 1 - forward, 0)))

    def _sent_on(self, run: Pass) -> list[str]:
        """Return a pass between its messages from neighbors and its messages to them."""
        parts = run.parts
        receive = [line for part in parts for line in self._receive(part)]
        return [*receive, *self._run(run), *(line for part in parts for line in self._send(part))]

    def _receive(self, part: Pass) -> list[str]:
        forward = part.kind == "F"
        tag = FORWARD if forward else BACKWARD
        if forward == (part.chunk == 0):
            return ["if near > 0:", f"    recv(rank - inward, tag={tag})"]
        return [f"recv(rank + inward, tag={tag})"]

    def _send(self, part: Pass) -> list[str]:
        forward = part.kind == "F"
        tag, size = (FORWARD if forward else BACKWARD), repr(self._step.hop_bytes)
        if forward == (part.chunk == 1):
            return ["if near > 0:", f"    send(rank - inward, {size}, tag={tag})"]
        return [f"send(rank + inward, {size}, tag={tag})"]
