"""Jobs: several programs that run at once, as one program of all their processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from parcast.errors import InvalidPointError
from parcast.model.placement import place
from parcast.model.query import Query
from parcast.model.workload import Job
from parcast.program.matching.collectives import placed
from parcast.program.matching.expansion import expand
from parcast.program.source.operations import ANY
from parcast.program.source.tree import Site
from parcast.program.unroll.blocks import Block, Pool, Request, Unrolled


def alone(query: Query) -> list[Query]:
    """Return the question about each job by itself, on the nodes that it has among the others.

    Raises
    ------
    InvalidPointError
        If the jobs have other numbers of processes than the query.
    UnsupportedError
        If a process would be left without a core.
    """
    jobs = query.workload.jobs
    sizes = [job.processes for job in jobs]
    if sum(size or 0 for size in sizes) != query.p or None in sizes:
        each = "+".join(str(size or 4) for size in sizes)
        raise InvalidPointError(
            f"{query.workload.name} has {len(jobs)} jobs, and p={query.p} does not say how many "
            f"processes each one has; give -p {each}"
        )
    nodes = place(query).node.tolist()
    return [
        attrs.evolve(
            query,
            workload=job.workload,
            p=len(ranks),
            mapping=tuple(nodes[ranks.start : ranks.stop]),
            parameters={
                name: query.values[f"{job.name}.{name}"] for name in job.workload.parameters
            },
        )
        for job, ranks in zip(jobs, ranks_of(jobs), strict=True)
    ]


def ranks_of(jobs: Sequence[Job]) -> Iterator[range]:
    """Yield the ranks of each job: those of one follow those of the job before it."""
    first = 0
    for job in jobs:
        yield range(first, first := first + (job.processes or 0))


def job_times(
    query: Query, ends: Sequence[float], starts: Sequence[float]
) -> dict[str, dict[str, Any]]:
    """Return the query's jobs by name, with the seconds from its latest ``start()`` to its end.

    Parameters
    ----------
    query
        What was asked; of one program there are none.
    ends, starts
        When each process ended, and its own latest ``start()``; 0 without one.
    """
    jobs = query.workload.jobs
    return {
        job.name: {
            "processes": job.processes,
            "time": float(max(ends[at] for at in ranks) - max(starts[at] for at in ranks)),
        }
        for job, ranks in zip(jobs, ranks_of(jobs), strict=True)
    }


def together(query: Query) -> Unrolled:
    """Return the operations of all jobs, the collectives of each put as its own messages.

    Raises
    ------
    InvalidPointError
        If a job has no meaning with its processes.
    """
    blocks: list[Block] = []
    pools: list[Pool] = []
    programs = [
        expand(single.workload.content.at(single), placed(single)) for single in alone(query)
    ]
    sites = tuple(site for program in programs for site in program.sites)
    before = 0
    for program, ranks in zip(programs, ranks_of(query.workload.jobs), strict=True):
        shift = _Shift(ranks, before, len(pools))
        blocks += [shift.block(block) for block in program.blocks]
        pools += [shift.pool(pool, sites) for pool in program.pools]
        before += len(program.sites)
    return Unrolled(query.p, blocks, sites, query.workload.name, tuple(pools))


class _Shift:
    """Blocks of a job among all ranks; what blocks share stays shared."""

    def __init__(self, ranks: range, sites: int, pools: int) -> None:
        self._first, self._sites, self._pools = ranks.start, sites, pools
        self._everyone = np.arange(ranks.start, ranks.stop)
        self._arrays: dict[int, Any] = {}
        self._blocks: dict[int, Block] = {}

    def block(self, block: Block) -> Block:
        """Return a block where its job's ranks are."""
        if id(block) not in self._blocks:
            ranks = self._everyone if block.ranks is None else self._peers(block.ranks)
            requests = tuple(
                Request(r.back, None if r.ranks is None else self._peers(r.ranks))
                for r in block.requests
            )
            self._blocks[id(block)] = Block(
                block.site + self._sites, block.op, ranks, self._arguments(block), requests
            )
        return self._blocks[id(block)]

    def pool(self, pool: Pool, sites: tuple[Site, ...]) -> Pool:
        """Return a pool that is kept, or attended to, where its job's ranks are."""
        work = attrs.evolve(pool.work, blocks=list(map(self._of_tasks, pool.work.blocks)))
        return attrs.evolve(
            pool,
            work=attrs.evolve(work, sites=sites),
            keeper=pool.keeper + self._first,
            master=None if pool.master is None else pool.master + self._first,
        )

    def _of_tasks(self, block: Block) -> Block:
        """Return a block of tasks, whose numbers stay, that are done by ranks of the job."""
        site = block.site + self._sites
        return attrs.evolve(block, site=site, arguments=self._arguments(block))

    def _arguments(self, block: Block) -> dict[str, Any]:
        arguments = dict(block.arguments)
        for name in {"dst", "src"} & arguments.keys():
            arguments[name] = self._peers(arguments[name])
        if block.op == "pool":
            arguments["pool"] += self._pools
        return arguments

    def _peers(self, ranks: Any) -> Any:
        if not isinstance(ranks, np.ndarray):
            return ranks if ranks == ANY else ranks + self._first
        if id(ranks) not in self._arrays:
            self._arrays[id(ranks)] = np.where(ranks == ANY, ANY, ranks + self._first)
        return self._arrays[id(ranks)]
