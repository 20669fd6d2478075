"""What a worker does: answer the points of a batch, block by block, and store each block."""

from __future__ import annotations

import pickle
import time
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import attrs

from parcast.comparison.rows import MOST_ALONE, answer
from parcast.comparison.tasks import PASSING
from parcast.errors import ParcastError
from parcast.model.answers import Answers
from parcast.results.packing import Pack
from parcast.study.plan import Plan
from parcast.study.store import Block, Store, block_key, blocks, encode

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: A batch ends after this many seconds, whatever is left of it; the rest is given out again.
MOST_SECONDS = 2.0


@attrs.frozen
class Opened:
    """A plan, and the registry that answers it."""

    registry: Catalog
    plan: Plan
    answers: Answers = attrs.field(factory=partial(Answers, MOST_ALONE))


@attrs.frozen
class Job:
    """One solver's part of a study, as workers get it."""

    content: bytes | Opened = attrs.field(repr=False)  #: pickled where it goes to another process
    folder: Path | None  #: of the store; None where only the parent can reach it


def pickled(registry: Catalog, plan: Plan) -> bytes:
    """Return what another process needs to answer the plan with the same plugins.

    Raises
    ------
    ParcastError
        If a plugin or a workload cannot be sent.
    """
    plugins = registry.sources
    if plugins is not None:
        plugins = tuple(
            plugin.__name__ if isinstance(plugin, ModuleType) else plugin for plugin in plugins
        )
    try:
        return pickle.dumps((plugins, plan))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ParcastError(
            f"the study cannot be sent to other processes ({error}); choose executor 'threads'"
        ) from None


@lru_cache(maxsize=2)
def _unpickled(content: bytes) -> Opened:
    from parcast.plugins.catalog import Catalog

    plugins, plan = pickle.loads(content)  # noqa: S301  (the parent made it a moment ago)
    if plugins is not None:
        plugins = [
            import_module(plugin) if isinstance(plugin, str) else plugin for plugin in plugins
        ]
    return Opened(Catalog(plugins), plan)


def prepare(content: bytes) -> None:
    """Load what the first batch of a study needs."""
    opened = _unpickled(content)
    if opened.plan.solver in opened.registry.solvers:
        opened.registry.solver(opened.plan.solver)


@attrs.frozen
class FinishedBlock:
    """A finished block; ``content`` is there unless it was stored, ``problem`` says why not.

    Without a key it is shown and never stored.
    """

    block: Block
    key: str
    content: bytes | None = attrs.field(repr=False)
    problem: str = ""
    seconds: float = 0.0

    @classmethod
    def stored(cls, block: Block, digests: bytes) -> FinishedBlock:
        """Return a block that the store has."""
        return cls(block, block_key(digests, block), None)


def work(job: Job, batch: Block, size: int, digests: bytes) -> list[FinishedBlock]:
    """Answer a batch in blocks of at most ``size`` points; return the blocks that are finished.

    Parameters
    ----------
    job
        The study's part.
    batch
        The points.
    size
        The most points in a block.
    digests
        The digests of the batch's points.
    """
    opened = job.content
    if isinstance(opened, bytes):
        opened = _unpickled(opened)
    started, finished = time.perf_counter(), []
    for block in blocks(batch.start, batch.stop, size):
        relative = Block(block.start - batch.start, block.stop - batch.start)
        finished.append(_answer(job, opened, block, block_key(digests, relative)))
        if time.perf_counter() - started > MOST_SECONDS:
            break
    return finished


def _answer(job: Job, opened: Opened, block: Block, key: str) -> FinishedBlock:
    start = time.perf_counter()
    questions = opened.plan.questions(opened.registry, block.start, block.stop)
    rows = answer(opened.registry, questions, opened.answers, opened.plan.uncertainty)
    content = encode(Pack.of(rows))
    if any(PASSING in row.details for row in rows):  # asked again, there may be an answer
        return FinishedBlock(block, "", content, "", time.perf_counter() - start)
    problem = "" if job.folder is None else put(Store(job.folder), key, content)
    returned = content if job.folder is None or problem else None
    return FinishedBlock(block, key, returned, problem, time.perf_counter() - start)


def put(store: Store, key: str, content: bytes) -> str:
    """Store a block; return why this is not possible, or nothing."""
    try:
        store.put(key, content)
    except OSError as error:
        return f"{store.folder.parent}: {error.strerror or error}"
    return ""
