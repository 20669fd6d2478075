"""Processes on cores of their own choice that wait asleep, as those of PVM did.

MPI libraries look for messages again and again while they wait, and so compete with whatever
else wants the core; here a process that waits leaves it to the others.
"""

from __future__ import annotations

import os
import signal
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from parcast.errors import UnsupportedError
from parcast_mpi.loading.generator import burn, child, pin
from parcast_mpi.running.plan import Plan

#: Longer messages would wait in a pipe for their receiver.
MOST_BYTES = 16384
_TIME = struct.Struct("d")

Pipes = dict[tuple[int, int], tuple[int, int]]


@attrs.frozen
class Team:
    """Processes that run a plan again and again."""

    gates: Sequence[int]  #: of each, where it is told to begin
    ends: int  #: where each tells when it ended

    def run(self) -> float:
        """Return the seconds until the last of them has ended."""
        begun = time.monotonic()
        for gate in self.gates:
            os.write(gate, b"x")
        times: list[float] = [_TIME.unpack(os.read(self.ends, _TIME.size))[0] for _ in self.gates]
        return max(times) - begun


@contextmanager
def team(plan: Plan, cores: Sequence[int]) -> Iterator[Team]:
    """Start a process for each rank of a plan on its core, and end them afterwards.

    Raises
    ------
    UnsupportedError
        If the plan has more than computations and short messages, or there is no such core.
    """
    for rank in plan.steps:
        for step in rank:
            _check(step)
    ranks = range(len(plan.steps))
    pipes: Pipes = {(a, b): os.pipe() for a in ranks for b in ranks}
    gates, results = [os.pipe() for _ in ranks], os.pipe()
    allowed = os.sched_getaffinity(0)
    if not allowed.issuperset(cores):
        raise UnsupportedError(f"cores {list(cores)} are not all among those here, {allowed}")

    def work(rank: int) -> None:
        pin(cores[rank])
        while os.read(gates[rank][0], 1):
            for op, _, arguments in plan.steps[rank]:
                _do(op, arguments, rank, pipes)
            os.write(results[1], _TIME.pack(time.monotonic()))

    members = [child(lambda rank=rank: work(rank)) for rank in ranks]  # type: ignore[misc]
    try:
        yield Team([gate for _, gate in gates], results[0])
    finally:
        for member in members:
            os.kill(member, signal.SIGKILL)
            os.waitpid(member, 0)
        for ends in (*pipes.values(), *gates, results):
            for end in ends:
                os.close(end)


def _check(step: list[Any]) -> None:
    op, _, arguments = step
    if op not in ("compute", "send", "recv", "sendrecv"):
        raise UnsupportedError(f"{op} is not run here; write compute, send, recv and sendrecv")
    if op in ("send", "sendrecv") and arguments[1] > MOST_BYTES:
        raise UnsupportedError(f"a message of {arguments[1]} bytes is longer than {MOST_BYTES}")


def _do(op: str, arguments: list[Any], rank: int, pipes: Pipes) -> None:
    match op, arguments:
        case "compute", [seconds, _]:  # at one operation a second
            burn(seconds)
        case "send", [dst, size, _]:
            _send(pipes[rank, dst][1], size)
        case "recv", [src, _]:
            _receive(pipes[src, rank][0])
        case "sendrecv", [dst, size, src, _]:
            _send(pipes[rank, dst][1], size)
            _receive(pipes[src, rank][0])


_LENGTH = struct.Struct("I")


def _send(pipe: int, size: int) -> None:
    os.write(pipe, _LENGTH.pack(size) + bytes(size))


def _receive(pipe: int) -> None:
    left = _LENGTH.unpack(os.read(pipe, _LENGTH.size))[0]
    while left:
        left -= len(os.read(pipe, left))
