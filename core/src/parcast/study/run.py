"""Running a plan: batches given to an executor, answers collected, nothing finished lost."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import suppress
from typing import TYPE_CHECKING

import attrs

from parcast.errors import ParcastError
from parcast.model.query import Status
from parcast.results.packing import Pack
from parcast.results.row import Row
from parcast.study.pace import Pace
from parcast.study.plan import Plan
from parcast.study.store import SIZE, Block, Store, decode, encode, missing
from parcast.study.work import FinishedBlock, Job, prepare, put, work

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog


@attrs.define
class Workers:
    """An executor; where it was made by name, it is made again when it breaks."""

    executor: Executor
    make: Callable[[], Executor] | None = None
    _checked: bool = False

    @property
    def count(self) -> int:
        """How many workers there are, as far as can be known."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def prepare(self, content: bytes) -> None:
        """Let processes start, and load what they need, before there is work for them."""
        if isinstance(self.executor, ProcessPoolExecutor):
            with suppress(BrokenExecutor):  # `check` says it
                for _ in range(self.count):
                    self.executor.submit(prepare, content)

    def check(self) -> None:
        """Make sure, once, that processes start at all.

        Raises
        ------
        ParcastError
            If they do not, as where a script has no guard.
        """
        if self._checked or not isinstance(self.executor, ProcessPoolExecutor):
            return
        try:
            self.executor.submit(int).result()
        except BrokenExecutor:
            raise ParcastError(
                "no process can be started; in a script, start it under: "
                'if __name__ == "__main__": '
                "(from standard input or without that line, choose executor 'threads')"
            ) from None
        self._checked = True

    def renew(self) -> None:
        """Replace a broken executor.

        Raises
        ------
        ParcastError
            If it was given, not made by name.
        """
        if self.make is None:
            raise ParcastError(
                "the executor broke, as when one of its processes is killed; finished points "
                "are cached: run the study again with a new one"
            )
        self.close()
        self.executor = self.make()

    def close(self) -> None:
        """End the workers, whatever they do; an executor that was given is left alone."""
        if self.make is not None:
            for process in list((getattr(self.executor, "_processes", None) or {}).values()):
                process.terminate()
            self.executor.shutdown(wait=False, cancel_futures=True)


@attrs.define
class Run:
    """One solver's part of a plan on its way."""

    registry: Catalog
    plan: Plan
    job: Job
    digests: bytes
    workers: Workers
    store: Store | None
    tell: Callable[[int], None]  #: hears how many points were done
    warn: Callable[[str], None]  #: hears one sentence
    blocks: list[FinishedBlock] = attrs.field(factory=list)
    _running: dict[Future[list[FinishedBlock]], Block] = attrs.field(factory=dict)
    _pace: Pace = attrs.field(factory=Pace)

    def finish(self) -> list[FinishedBlock]:
        """Return all blocks in order: those found in the store, and the others answered now."""
        stored = list(self.store.stored_blocks(self.digests, len(self.plan))) if self.store else []
        self._keep([FinishedBlock.stored(block, self.digests) for block in stored])
        todo, suspects = deque(missing(stored, len(self.plan))), deque[Block]()
        if todo:
            self.workers.check()
        while todo or self._running:
            self._give_out(todo)
            for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                if future not in self._running:  # given up with a broken executor
                    continue
                batch = self._running.pop(future)
                error = future.exception()
                if error is None:
                    todo.extendleft(self._take(batch, future.result()))
                    continue
                suspects.append(batch)
                if isinstance(error, BrokenExecutor):
                    suspects += self._running.values()
                    self._running.clear()
                    self.workers.renew()
            while suspects:
                suspects.extendleft(self._alone(suspects.popleft()))
        return sorted(self.blocks, key=lambda part: part.block.start)

    def _give_out(self, todo: deque[Block]) -> None:
        while todo and len(self._running) < 2 * self.workers.count:
            left = sum(map(len, todo)) // (2 * self.workers.count)
            stretch = todo.popleft()
            batch = Block(stretch.start, min(stretch.stop, self._pace.stop(stretch.start, left)))
            if batch.stop < stretch.stop:
                todo.appendleft(Block(batch.stop, stretch.stop))
            self._running[self._submit(batch)] = batch

    def _submit(self, batch: Block) -> Future[list[FinishedBlock]]:
        digests = self.digests[batch.start * SIZE : batch.stop * SIZE]
        return self.workers.executor.submit(work, self.job, batch, self._pace.block(), digests)

    def _take(self, batch: Block, finished: list[FinishedBlock]) -> Iterator[Block]:
        """Keep what is finished of a batch; yield the rest."""
        self._keep(finished)
        if self.registry.has_listeners:
            self._announce(finished)
        self._pace.learn(
            sum(len(part.block) for part in finished), sum(part.seconds for part in finished)
        )
        reached = finished[-1].block.stop
        if reached < batch.stop:
            yield Block(reached, batch.stop)

    def _alone(self, batch: Block) -> list[Block]:
        """Ask again, with nothing beside, what may have ended its worker; return what is left.

        A single point that ends its worker twice is answered by a row that says so.
        """
        error: BaseException | None = None
        for _ in range(1 if len(batch) > 1 else 2):
            future = self._submit(batch)
            wait([future])
            error = future.exception()
            if error is None:
                return list(self._take(batch, future.result()))
            if isinstance(error, BrokenExecutor):
                self.workers.renew()
        if len(batch) > 1:
            middle = (batch.start + batch.stop) // 2
            return [Block(middle, batch.stop), Block(batch.start, middle)]
        assert error is not None
        self._keep([self._failed(batch, error)])
        return []

    def _announce(self, finished: list[FinishedBlock]) -> None:
        """Tell plugins of points that are done."""
        for part in finished:
            content = part.content or (self.store and self.store.path(part.key).read_bytes()) or b""
            pack = decode(content)
            questions = self.plan.questions(self.registry, part.block.start, part.block.stop)
            for point, row in zip(questions, pack.rows() if pack else (), strict=False):
                self.registry.point_done(point.query, row.prediction)

    def _failed(self, block: Block, error: BaseException) -> FinishedBlock:
        """Return the row of a point that cannot be asked; it is not stored, only shown."""
        (question,) = self.plan.questions(self.registry, block.start, block.stop)
        reason = "its process was ended each time, perhaps for lack of memory"
        if not isinstance(error, BrokenExecutor):
            reason = " ".join(f"{type(error).__name__}: {error}".split())
        query = question.query
        row = Row(
            workload=query.workload.name,
            machine=query.machine.name,
            solver=question.solver,
            p=query.p,
            d=query.d,
            mapping=query.mapping,
            params=question.params,
            seed=query.seed,
            status=Status.FAILED,
            message=reason,
        )
        return FinishedBlock(block, "", encode(Pack.of([row])))

    def _keep(self, finished: list[FinishedBlock]) -> None:
        for part in finished:
            problem, record = part.problem, part
            if part.key and part.content is not None and self.store is not None and not problem:
                problem = put(self.store, part.key, part.content)
                record = part if problem else attrs.evolve(part, content=None)
            if problem:
                self.warn(f"{problem}; the study continues without caching its results")
            self.blocks.append(record)
            self.tell(len(part.block))
