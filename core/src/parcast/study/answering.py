"""Asking a whole study: each solver's part by the workers, and the rows of all."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcast.comparison.joining import join
from parcast.comparison.provenance import provenance
from parcast.results.results import Results
from parcast.study.digest import digest_of_code, digests_of
from parcast.study.plan import Plan
from parcast.study.reading import Study, read_study
from parcast.study.run import Run, Workers
from parcast.study.store import Store
from parcast.study.stored import StoredRows
from parcast.study.work import FinishedBlock, Job, Opened, pickled

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

#: With more rows than this, they stay where they are kept until they are looked at.
MOST_IN_MEMORY = 10_000

#: So many points take a while to be looked up, while processes start.
MANY = 10_000


def study(
    registry: Catalog,
    source: str | Path | Mapping[str, Any] | Study,
    *,
    executor: str | Executor = "processes",
    cache: str | Path | None = "",
    tell: Callable[[int], None] = lambda _: None,
    warn: Callable[[str], None] = lambda _: None,
) -> Results:
    """Answer every question of a study.

    Parameters
    ----------
    registry
        Where names are looked up.
    source
        A study, its file, or a mapping with the keys of such a file.
    executor
        ``"processes:4"``, ``"threads:4"``, a name that a plugin knows, or any executor.
    cache
        The folder of finished points: the user's own where it is ``""``, none where it is None.
        What is in it is not asked again.
    tell
        Called now and then with a number of points that were done.
    warn
        Called with one sentence where points cannot be kept.

    Returns
    -------
    Results
        A row for each point: solver by solver, in the order of `Plan`. It depends neither on
        the number of workers nor on what was found in the cache, but for ``solve_seconds``.

    Raises
    ------
    ParcastError
        If a name, a file, a setting, p or d is wrong.
    """
    grid = source if isinstance(source, Study) else read_study(registry, source)
    workers, warnings = _workers(registry, executor), set[str]()

    def warn_once(sentence: str) -> None:
        if sentence not in warnings:
            warnings.add(sentence)
            warn(sentence)

    try:
        parts = [
            (store, block)
            for plan in grid.plans
            for store, block in _part(registry, plan, workers, cache, tell, warn_once)
        ]
    finally:
        workers.close()
    return _results(registry, grid, StoredRows(parts))


def _workers(registry: Catalog, executor: str | Executor) -> Workers:
    if isinstance(executor, Executor):
        return Workers(executor)
    return Workers(registry.executor(executor), lambda: registry.executor(executor))


def _part(
    registry: Catalog,
    plan: Plan,
    workers: Workers,
    cache: str | Path | None,
    tell: Callable[[int], None],
    warn: Callable[[str], None],
) -> Iterator[tuple[Store | None, FinishedBlock]]:
    """Yield a solver's finished blocks, each with the store that may have it."""
    store, digests = None, b""
    shared = isinstance(workers.executor, ThreadPoolExecutor)
    local = shared or isinstance(workers.executor, ProcessPoolExecutor)
    content = Opened(registry, plan) if shared else pickled(registry, plan)
    if isinstance(content, bytes) and len(plan) >= MANY:
        workers.prepare(content)
    if cache is not None:
        try:
            code = digest_of_code(registry, plan.solver)
            digests = digests_of(plan, code)
            store = Store(_folder(cache) / f"{plan.solver}-{code.hex()[:8]}")
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            warn(f"the points of {plan.solver} cannot be cached: {error}")
    job = Job(content, folder=store.folder if store and local else None)
    run = Run(registry, plan, job, digests, workers, store, tell, warn)
    for block in run.finish():
        yield store, block


def _folder(cache: str | Path) -> Path:
    if cache != "":
        return Path(cache).absolute()  # wherever workers are, and whoever changes folders
    from platformdirs import user_cache_path

    return user_cache_path("parcast") / "results"


def _results(registry: Catalog, grid: Study, stored: StoredRows) -> Results:
    plan = grid.plans[0]
    origin = provenance(registry, plan.workloads, plan.machines, plan.settings, plan.seeds)
    origin["study"] = {"name": grid.name, "summary": grid.summary, **grid.data}
    if grid.measured is not None:
        times = grid.measured
        joined, unused = join(list(stored), times, plan.workloads)
        origin["measured"] = {"source": times.where, "points": len(times.items), "unused": unused}
        return Results(joined, origin, writers=registry.writers)
    rows = tuple(stored) if len(stored) <= MOST_IN_MEMORY else stored
    return Results(rows, origin, writers=registry.writers)
