"""Two jobs by chance on one machine, and the same as one program that is put together plainly."""

from __future__ import annotations

from random import Random

import attrs

from parcast import Query, Workload
from parcast.model import WHOLE_NETWORK, Costs, Job
from parcast.program import ANY, Operation, Program, Unrolled
from parcast.program.matching import matched_program
from parcast.program.reader import read_source
from parcast.testing import random_program

from .topologies import random_topology

#: How many processes the two jobs have together.
PROCESSES = 8


@attrs.frozen
class Pair:
    """A query about two jobs, the queries about each alone, and both as one program."""

    query: Query
    alone: tuple[Query, Query]
    plain: Unrolled

    @property
    def costs(self) -> Costs:
        """What the machine charges both."""
        return Costs.of(self.query, ("compute", "messages", "io"), WHOLE_NETWORK)


def random_pair(seed: int, *, contention: str = "fair", wildcards: bool = False, **without) -> Pair:
    """Return two jobs, the same ones for the same arguments."""
    random = Random(seed)
    options = {"contention": contention, "eager": True, "network": True, **without}
    topology = random_topology(seed) if seed % 3 and contention == "fair" else None
    machine = random_program(seed, size=PROCESSES, topology=topology, **options).machine
    first = random.randint(1, PROCESSES - 1)
    sizes = [first, PROCESSES - first]
    sources = [
        random_program(2 * seed + job, size=size, wildcards=wildcards, **options).source
        for job, size in enumerate(sizes)
    ]
    nodes = [rank // machine.nodes.cores for rank in range(PROCESSES)]
    random.shuffle(nodes)
    return pair(machine, sources, sizes, nodes)


def pair(machine, sources, sizes, nodes) -> Pair:
    """Return two jobs on these nodes."""
    workloads = [
        read_source(source, f"{name}.py", name) for name, source in zip("ab", sources, strict=True)
    ]
    jobs = tuple(map(Job, "ab", workloads, sizes))
    query = Query(
        workload=Workload(name="a+b", kind="program", content=Program(None), jobs=jobs),
        machine=machine,
        p=sum(sizes),
        d=machine.storage.disks,
        mapping=tuple(nodes),
    )
    query = attrs.evolve(
        query,
        workload=attrs.evolve(
            query.workload,
            parameters={
                f"{work.name}.{name}": value
                for work in workloads
                for name, value in work.parameters.items()
            },
        ),
    )
    alone = tuple(
        attrs.evolve(query, workload=work, p=size, mapping=tuple(nodes[first : first + size]))
        for work, size, first in zip(workloads, sizes, (0, sizes[0]), strict=True)
    )
    return Pair(query, alone, _one_program(alone))


def _one_program(alone) -> Unrolled:
    """Return both as lists of operations, the peers of the second counted on from the first."""
    lists, sites, pools, first = [], (), [], 0
    for query in alone:
        unrolled = matched_program(query, pools=True).unrolled
        by = first, len(sites), len(pools)
        lists += _moved(unrolled.by_rank(), *by)
        pools += [
            attrs.evolve(
                pool,
                work=Unrolled.of_ranks(_moved(pool.work.by_rank(), *by), pool.work.sites),
                keeper=first,
                master=None if pool.master is None else pool.master + first,
            )
            for pool in unrolled.pools
        ]
        sites, first = (*sites, *unrolled.sites), first + query.p
    return attrs.evolve(Unrolled.of_ranks(lists, sites), pools=tuple(pools))


def _moved(lists, first: int, sites: int, pools: int) -> list[list[Operation]]:
    by = {"dst": first, "src": first, "pool": pools}
    return [
        [
            attrs.evolve(
                operation,
                site=operation.site + sites,
                arguments={
                    name: value + by[name] if name in by and value != ANY else value
                    for name, value in operation.arguments.items()
                },
            )
            for operation in operations
        ]
        for operations in lists
    ]
