"""Steps of a plan as calls that are ready to be made, with what each one's time counts as."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from parcast_mpi.running.ahead import Ahead, is_ahead, issues
from parcast_mpi.running.files import Files
from parcast_mpi.running.pools import Pools, Task

#: What a call's time counts as: indices in `parcast.Parts`, and the mark of a ``start()``.
COMPUTE, COMMUNICATION, IO, SYNCHRONIZATION, START = range(5)

Call = tuple[Callable[..., object], tuple[Any, ...]]

_KINDS = {"compute": COMPUTE, "elapse": COMPUTE, "read": IO, "write": IO}


class Calls:
    """All calls of one rank, their buffers made in advance."""

    def __init__(self, mine: dict[str, Any], folder: Path) -> None:
        self.world = MPI.COMM_WORLD
        self.steps = mine["steps"]
        self.communicators: dict[int | None, MPI.Intracomm] = {None: self.world}
        whole = self.world.Get_group()
        for number, members in mine["groups"]:
            self.communicators[number] = self.world.Create_group(whole.Incl(members), number)
        self.files = Files(folder, self.world.rank, self.world.size)
        self.receive = mine["receive"]
        self.slots: dict[int, MPI.Request] = {}
        self.tasks = mine["pools"]
        self.pools = Pools(self.world, [pool["bytes"] for pool in self.tasks])
        self._buffers: dict[Any, Any] = {}
        self.begins = issues(self.steps)
        self._ahead = Ahead(self.files.read) if self.begins else None
        self.calls, self.kinds, self.step_indices = self._prepare()

    def _prepare(self) -> tuple[list[Call], list[int], list[int]]:
        """Return the calls, what each counts as, and the step that each belongs to."""
        calls: list[Call] = []
        kinds: list[int] = []
        step_indices: list[int] = []
        barrier: Call = (self.world.Barrier, ())
        for index, (op, _, arguments) in enumerate(self.steps):
            timed_calls = [(self._call(op, arguments), _kind(op))]
            if op in {"read", "write"} and arguments[2]:  # together with all others
                timed_calls = [(barrier, SYNCHRONIZATION), *timed_calls, (barrier, SYNCHRONIZATION)]
            if self._ahead is not None and index in self.begins:
                timed_calls = [((self._ahead.issue, (self.begins[index],)), IO), *timed_calls]
            for call, kind in timed_calls:
                calls.append(call)
                kinds.append(kind)
                step_indices.append(index)
        return calls, kinds, step_indices

    def _call(self, op: str, arguments: Sequence[Any]) -> Call:  # noqa: PLR0912
        world = self.world
        match op:
            case "compute":
                return self._kernel().compute, tuple(arguments)
            case "elapse":
                return spin, tuple(arguments)
            case "start":
                return int, ()
            case "read" | "write":
                if op == "read":
                    self.files.prepare(arguments[0], arguments[1])
                if self._ahead is not None and is_ahead(op, arguments):
                    return self._ahead.take, ()
                return getattr(self.files, op), (arguments[0], arguments[1])
            case "send":
                dst, amount, tag = arguments
                return world.Send, (self._bytes("send", amount), dst, tag)
            case "recv":
                src, tag = arguments
                return world.Recv, (self._bytes("recv", self.receive), _source(src), tag)
            case "isend":
                dst, amount, tag, slot = arguments
                return self._post, (slot, world.Isend, (self._bytes("send", amount), dst, tag))
            case "irecv":
                src, tag, slot = arguments
                buffer = self._bytes(("irecv", slot), self.receive)
                return self._post, (slot, world.Irecv, (buffer, _source(src), tag))
            case "wait" | "waitall":
                return self._wait, tuple(arguments)
            case "pool":
                return self.pools.work, (arguments[0], self._tasks(arguments[0]))
            case "sendrecv":
                dst, amount, src, tag = arguments
                sent, received = self._bytes("send", amount), self._bytes("recv", self.receive)
                return world.Sendrecv, (sent, dst, tag, received, _source(src), tag)
            case "gatherv" | "scatterv" | "allgatherv" | "alltoallv":
                return self._vector(op, *arguments)
            case _:
                return self._collective(op, *arguments)

    def _tasks(self, number: int) -> list[Task]:
        """Return the calls of each task of a pool."""
        return [
            [(*self._call(op, arguments), _kind(op)) for op, _, arguments in steps]
            for steps in self.tasks[number]["steps"]
        ]

    def _collective(self, op: str, amount: int, root: int, group: int | None) -> Call:
        """Return MPI's own collective; a sum of doubles where the bytes are doubles."""
        among = self.communicators[group]
        size, is_root = among.size, among.rank == root
        block = self._bytes("send", amount)
        match op:
            case "barrier":
                return among.Barrier, ()
            case "bcast":
                return among.Bcast, (self._bytes("recv", amount), root)
            case "gather":
                return among.Gather, (block, self._equal(amount, size) if is_root else None, root)
            case "scatter":
                blocks = self._equal(amount, size, "send") if is_root else None
                return among.Scatter, (blocks, self._bytes("recv", amount), root)
            case "allgather":
                return among.Allgather, (block, self._equal(amount, size))
            case "alltoall":
                blocks = self._equal(amount, size, "send")
                return among.Alltoall, (blocks, self._equal(amount, size))
        sum_of = MPI.SUM if amount % 8 == 0 else MPI.BOR
        sent, received = self._numbers("send", amount), self._numbers("recv", amount)
        match op:
            case "reduce":
                return among.Reduce, (sent, received if is_root else None, sum_of, root)
            case "reduce_scatter":
                blocks = self._numbers("send", amount, size)
                return among.Reduce_scatter_block, (blocks, received, sum_of)
            case "allreduce":
                return among.Allreduce, (sent, received, sum_of)
            case "scan":
                return among.Scan, (sent, received, sum_of)
        raise ValueError(f"no real run knows {op}")

    def _vector(self, op: str, amounts: Sequence[int], root: int, group: int | None) -> Call:
        """Return MPI's own collective of unlike bytes, those of all in the group."""
        among = self.communicators[group]
        amount, is_root = amounts[among.rank], among.rank == root
        block = self._bytes("recv" if op == "scatterv" else "send", amount)
        match op:
            case "gatherv":
                return among.Gatherv, (block, self._unequal(amounts) if is_root else None, root)
            case "scatterv":
                blocks = self._unequal(amounts, "send") if is_root else None
                return among.Scatterv, (blocks, block, root)
            case "allgatherv":
                return among.Allgatherv, (block, self._unequal(amounts))
        blocks = self._unequal([amount] * among.size, "send")
        return among.Alltoallv, (blocks, self._unequal(amounts))

    def _unequal(self, amounts: Sequence[int], use: str = "recv") -> Any:
        """Return a block of each size, one behind the other."""
        offsets = [sum(amounts[:index]) for index in range(len(amounts))]
        return [self._array(use, sum(amounts)), (list(amounts), offsets), MPI.BYTE]

    def _kernel(self) -> Any:
        if "kernel" not in self._buffers:
            from parcast_mpi.running.kernel import Kernel

            in_tasks = (step for pool in self.tasks for task in pool["steps"] for step in task)
            steps = (*self.steps, *in_tasks)
            memory = any(op == "compute" and arguments[1] for op, _, arguments in steps)
            self._buffers["kernel"] = Kernel(memory=memory)
        return self._buffers["kernel"]

    def _array(self, use: Any, amount: int) -> Any:
        """Return at least so many bytes for this use; all that are sent share theirs."""
        have = self._buffers.get(use)
        if have is None or have.size < amount:
            have = self._buffers[use] = np.zeros(-(-max(amount, 8) // 8) * 8, np.uint8)
        return have

    def _bytes(self, use: Any, amount: int) -> Any:
        return [self._array(use, amount), amount, MPI.BYTE]

    def _equal(self, amount: int, size: int, use: str = "recv") -> Any:
        return [self._array(use, amount * size), amount, MPI.BYTE]

    def _numbers(self, use: str, amount: int, blocks: int = 1) -> Any:
        kind, width = (MPI.DOUBLE, 8) if amount % 8 == 0 else (MPI.BYTE, 1)
        return [self._array(use, amount * blocks), amount // width, kind]

    def _post(self, slot: int, call: Callable[..., MPI.Request], arguments: Any) -> None:
        self.slots[slot] = call(*arguments)

    def _wait(self, slots: Sequence[int]) -> None:
        MPI.Request.Waitall([self.slots.pop(slot) for slot in slots])


def _kind(op: str) -> int:
    marks = {"barrier": SYNCHRONIZATION, "start": START}
    return _KINDS.get(op, marks.get(op, COMMUNICATION))


def _source(src: int) -> int:
    return MPI.ANY_SOURCE if src < 0 else src


def spin(seconds: float) -> None:
    """Keep the processor busy until so many seconds have passed."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
