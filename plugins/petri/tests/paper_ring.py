"""The paper's experiment: blocks of a matrix go round a ring of processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from parcast_petri.nets.arrays import Form, kernel_arrays
from parcast_petri.nets.net import Number
from parcast_petri.nets.token_game import Play, Run
from parcast_petri.programs.paper import Loop, PaperSharing, Process, Segment, Send, paper_net


@attrs.frozen
class Ring:
    """The paper's experiment: blocks of a matrix go round a ring of processes.

    ``works[i]`` are the seconds of process i in its four segments, slowdown included: prepare and
    send, multiply the local part; then, in a loop, receive and forward, multiply.
    """

    works: Sequence[tuple[Number, Number, Number, Number]]
    startup: Number
    transfer: Number
    forward_always: bool = False  #: also in the last turn, a message that nobody receives

    def processes(self) -> list[Process]:
        """Return what each process does."""
        size = len(self.works)
        processes: list[Process] = []
        for rank, (first, local, relay, multiply) in enumerate(self.works):
            send = Send(f"buf {(rank + 1) % size}", self.startup, self.transfer)
            times = None if self.forward_always else size - 2
            buffer = f"buf {rank}"
            body = (
                Segment(work=relay, receives=buffer, sends=(send,), times=times),
                Segment(work=multiply),
            )
            before = [Segment(work=first, sends=(send,)), Segment(work=local)]
            processes.append([*before, Loop(size - 1, body)])
        return processes

    def run(
        self, sharing: PaperSharing, servers: int | None = None, form: Form = "exact"
    ) -> tuple[list[Any], Run]:
        """Return when each process ends, and the run of the net to its final marking."""
        net, ends = paper_net(self.processes(), sharing, servers)
        evaluation: Any = "sequential" if sharing == "fixed_sequential" else "batch"
        run = Play(kernel_arrays(net, form, evaluation=evaluation)).finish()
        return [run.last[transition] for transition in ends], run

    def ends(
        self, sharing: PaperSharing, servers: int | None = None, form: Form = "exact"
    ) -> tuple[list[Any], Any]:
        """Return when each process ends, and when the last message has arrived."""
        ends, run = self.run(sharing, servers, form)
        return ends, run.time
