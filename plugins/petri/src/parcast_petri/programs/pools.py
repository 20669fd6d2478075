"""Tasks for whoever is free: who takes which, as places and transitions.

A process goes from task to task, past those that are given, while the pool attends to it alone;
the first that is not it takes. So what happens in each task is a moment of its own, and no place
has more than two transitions a process.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from parcast.model import Costs
from parcast.program import Unrolled
from parcast.program.matching import OPS, Columns, operation_columns
from parcast.program.unroll import Pool
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.crossings import Crossings, fetched_bytes
from parcast_petri.programs.local_operations import LocalOperations
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.networks import Routes, Wires
from parcast_petri.programs.process import Process
from parcast_petri.programs.transfers import Message, Transfers


def net_operations(unrolled: Unrolled) -> int:
    """Return how many operations the net of a program has: every task is one of each process."""
    count = sum(len(unrolled.ranks_of(block)) for block in unrolled.blocks)
    for block in unrolled.blocks:
        if block.op == "pool":
            pool = unrolled.pools[block.arguments["pool"]]
            if pool.master is None:
                count += len(unrolled.ranks_of(block)) * (pool.work.count() + pool.tasks)
            else:  # each task is one of the process that does it, between messages
                count += pool.work.count() + 4 * (pool.tasks + pool.workers)
    return count


@attrs.define(eq=False)
class Pools:
    """Build all that processes do for the tasks of pools, which are kept at rank 0."""

    costs: Costs
    networks: Sequence[Wires]
    crossings: Crossings
    transfers: Transfers
    local: LocalOperations
    _tables: dict[int, Columns] = attrs.field(factory=dict, init=False)

    def build(self, process: Process, number: int, pool: Pool, name: str, first: int) -> None:
        """Build all tasks that a process may take of the pool of this number.

        ``first`` is the first of the messages that it fetches.
        """
        rank, since, word = process.rank, process.moment, f"pool {number}"
        if number not in self._tables:
            self._tables[number] = operation_columns(pool.work)
            _build_pool(process.builder, word, pool.tasks)
        charges = Charges.of(self._tables[number], self.costs, rank)
        to_pool = np.array([rank]), np.array([0]), np.array([0.0])
        (question,) = Routes.of(self.costs, self.networks, *to_pool).startup
        receiving = self.costs.receiving(fetched_bytes(pool))
        receiving = np.broadcast_to(np.asarray(receiving, float), pool.tasks + 1).tolist()
        for task in range(pool.tasks + 1):
            self._ask(process, word, f"{name}.{task}", question)
            _choose(process.builder, word, name, task, last=task == pool.tasks)
            self._fetch(process, name, task, first + task, receiving[task])
            if task < pool.tasks:
                self._work(process, charges, task, f"{name}.{task}")
        process.records.busy(rank, "communication", since, process.moment)

    def _ask(self, process: Process, word: str, name: str, question: float) -> None:
        """Build the question, until the pool attends to the process."""
        for step, seconds in ("ask", self.costs.sending(0)), ("question", question):
            if seconds:
                process.step(step, name, delay=float(seconds))
        looking = {f"looking {name}": 1}
        process.builder.transition(f"turn {name}", {process.at: 1, word: 1}, looking, queue=word)

    def _fetch(self, process: Process, name: str, task: int, index: int, receiving: float) -> None:
        """Build the answer, and that the process takes it."""
        routes = self.crossings.routes
        task_name, arrived = f"{name}.{task}", f"fetched {name}.{task}"
        src, dst = (self.local.node[rank] for rank in (0, process.rank))
        message = Message(
            name=task_name,
            statement=name,
            ready={f"answer {task_name}": 1},
            arrived={arrived: 1},
            src=src,
            dst=dst,
            startup=routes.startup[index],
            transfer=routes.transfer[index],
            network=None if src == dst else routes.network[index],
            shared=self.crossings.shared[index],
        )
        self.transfers.build(message)
        process.at = arrived
        process.step("fetch", task_name, **timed(receiving))

    def _work(self, process: Process, charges: Charges, task: int, name: str) -> None:
        """Build a task, whose time is none of fetching."""
        table, since = charges.table, process.moment
        for position, id_ in enumerate(range(table.offsets[task], table.offsets[task + 1])):
            match OPS[table.op[id_]]:
                case "compute" | "elapse" as word:
                    self.local.work(process, charges, id_, word, f"{name}.{position}")
                case "read" | "write" as word:
                    self.local.access(process, charges, id_, word, f"{name}.{position}")
        process.records.busy(process.rank, "communication", process.moment, since)


def _build_pool(builder: NetBuilder, word: str, tasks: int) -> None:
    """Build what of a pool is there once: its attention, and which tasks are left."""
    builder.place(word, 1)
    for task in range(tasks):
        left = builder.place(f"{word} left {task}", 1)
        giving, past = {f"{word} giving {task}": 1, left: 1}, {f"{word} past {task}": 1, word: 1}
        builder.transition(f"{word} give {task}", giving, past)


def _choose(builder: NetBuilder, word: str, name: str, task: int, *, last: bool) -> None:
    """Build that a process takes a task that is left, or passes it."""
    looking, answer = f"looking {name}.{task}", f"answer {name}.{task}"
    if last:
        builder.transition(f"end {name}", {looking: 1}, {answer: 1, word: 1})
        return
    left, past, further = f"{word} left {task}", f"{word} past {task}", f"looking {name}.{task + 1}"
    builder.transition(
        f"take {name}.{task}",
        {looking: 1, left: 1},
        {left: 1, answer: 1, f"{word} giving {task}": 1},
    )
    builder.transition(f"pass {name}.{task}", {looking: 1, past: 1}, {further: 1, past: 1})
