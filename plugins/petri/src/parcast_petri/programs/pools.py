"""Tasks for whoever is free: who takes which, as places and transitions.

A process goes from task to task, past those that are given, while the pool attends to it alone;
the first that is not it takes. So what happens in each task is a moment of its own, and no place
has more than two transitions a process. Where tasks are dealt beforehand, it has its own ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import attrs
import numpy as np

from parcast.model import Costs
from parcast.program.matching import OPS, Columns, operation_columns
from parcast.program.unroll import Pool
from parcast_petri.programs.charges import Charges
from parcast_petri.programs.crossings import Crossings, fetched_bytes, fetched_tasks
from parcast_petri.programs.dealing import Dealing
from parcast_petri.programs.local_operations import LocalOperations
from parcast_petri.programs.net_builder import NetBuilder, timed
from parcast_petri.programs.networks import Routes, Wires
from parcast_petri.programs.process import Process
from parcast_petri.programs.transfers import Message, Transfers


@attrs.define(eq=False)
class Pools:
    """Build all that processes do for the tasks of pools, which are kept at rank 0."""

    costs: Costs
    networks: Sequence[Wires]
    crossings: Crossings
    transfers: Transfers
    local: LocalOperations
    dealing: Dealing | None = None  #: who takes which task; None: the net decides it
    #: where tasks are dealt, by the number of a pool: the moment of each question, and who asks
    asked: dict[int, list[tuple[int, int]]] = attrs.field(
        factory=lambda: defaultdict(list), init=False
    )
    _tables: dict[int, Columns] = attrs.field(factory=dict, init=False)
    _dealt: dict[int, Charges] = attrs.field(factory=dict, init=False)

    def build(self, process: Process, number: int, pool: Pool, name: str, first: int) -> None:
        """Build all tasks that a process may take of the pool of this number.

        ``first`` is the first of the messages that it fetches.
        """
        rank, since, word = process.rank, process.moment, f"pool {number}"
        dealt = self.dealing is not None
        charges = self._charges(number, pool, process)
        to_pool = np.array([rank]), np.array([0]), np.array([0.0])
        (question,) = Routes.of(self.costs, self.networks, *to_pool).startup
        tasks = fetched_tasks(number, pool, rank, self.dealing)
        receiving = self.costs.receiving(fetched_bytes(pool)[tasks])
        receiving = np.broadcast_to(np.asarray(receiving, float), len(tasks)).tolist()
        for at, task in enumerate(tasks.tolist()):
            self._ask(process, f"{name}.{task}", question)
            if dealt:
                answer = {f"answer {name}.{task}": 1}
                moment = process.builder.transition(f"turn {name}.{task}", {process.at: 1}, answer)
                self.asked[number].append((moment, rank))
            else:
                _choose(process, word, name, task, last=task == pool.tasks)
            self._fetch(process, name, task, first + at, receiving[at])
            if task < pool.tasks:
                self._work(process, charges, task, f"{name}.{task}")
        process.records.busy(rank, "communication", since, process.moment)

    def _charges(self, number: int, pool: Pool, process: Process) -> Charges:
        """Return what tasks take: of this process, or of those to whom they are dealt."""
        if number not in self._tables:
            self._tables[number] = operation_columns(pool.work)
            if self.dealing is None:
                _build_pool(process.builder, f"pool {number}", pool.tasks)
        table = self._tables[number]
        if self.dealing is None:
            return Charges.of(table, self.costs, process.rank)
        if number not in self._dealt:
            takers = self.dealing.takers.get(number, np.empty(0, np.int64))
            who = np.repeat(takers, np.diff(table.offsets))
            self._dealt[number] = Charges.of(table, self.costs, who)
        return self._dealt[number]

    def _ask(self, process: Process, name: str, question: float) -> None:
        """Build the question, until it is at the pool."""
        for step, seconds in ("ask", self.costs.sending(0)), ("question", question):
            if seconds:
                process.step(step, name, delay=float(seconds))

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


def _choose(process: Process, word: str, name: str, task: int, *, last: bool) -> None:
    """Build that the pool attends to a process, which takes a task that is left, or passes it."""
    looking, answer = f"looking {name}.{task}", f"answer {name}.{task}"
    builder, asking = process.builder, {process.at: 1, word: 1}
    builder.transition(f"turn {name}.{task}", asking, {looking: 1}, queue=word)
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
