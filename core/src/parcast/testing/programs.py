"""Random programs and machines on which every family must agree with the references.

Every number is dyadic: amounts are whole, rates powers of two and times whole multiples of a
power of two, so that sums are exact in floats and answers can be compared with ``==``. They are
coarse besides, so that ties are frequent. With ``decimal`` they are as coarse in decimals, whose
sums are not exact: what is simultaneous is then told by `RandomProgram.exact` alone.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from random import Random

import attrs

from parcast.errors import UnknownNameError, did_you_mean
from parcast.model.costs import Costs
from parcast.model.fabric import Topology
from parcast.model.following import WHOLE_NETWORK
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.program import Program, Unrolled
from parcast.program.unroll.offloading import timed_on_accelerators
from parcast.testing.exact import exact_costs, exact_program
from parcast.testing.machines import random_machine
from parcast.testing.masters import with_masters
from parcast.testing.writer import DECIMAL, DYADIC, write

#: What `random_program` can leave out.
FEATURES = frozenset(
    {
        *("compute", "elapse", "memory", "io", "loops", "regions", "start"),
        *("pairs", "shifts", "requests", "sendrecv", "self", "collectives", "colors"),
        # of the machine
        *("algorithms", "local", "weights", "overhead", "handling", "sender", "aggregators"),
        "in-network",
    }
)


@attrs.frozen(kw_only=True)
class RandomProgram:
    """A program as text, and what to run it on."""

    seed: int
    source: str
    size: int
    machine: Machine
    disks: int
    mapping: str | tuple[int, ...]

    @cached_property
    def query(self) -> Query:
        """The query that asks about this program on this machine."""
        from parcast.program.reader import read_source

        name = f"random-{self.seed}"
        workload = read_source(self.source, f"{name}.py", name)
        p, d = self.size, self.disks
        return Query(workload=workload, machine=self.machine, p=p, d=d, mapping=self.mapping)

    @cached_property
    def costs(self) -> Costs:
        """What the machine charges."""
        return Costs.of(self.query, ("compute", "messages", "io"), WHOLE_NETWORK)

    @cached_property
    def unrolled(self) -> Unrolled:
        """The operations of all processes, collectives among them."""
        program: Program = self.query.workload.content
        return timed_on_accelerators(program.at(self.query), self.query)

    @cached_property
    def expanded(self) -> Unrolled:
        """The operations of all processes, collectives as messages."""
        from parcast.program.matching.collectives import placed
        from parcast.program.matching.expansion import expand

        return expand(self.unrolled, placed(self.query))

    @cached_property
    def exact(self) -> tuple[Unrolled, Costs]:
        """The same in fractions, as a reference takes it: what is simultaneous is equal."""
        return exact_program(self.expanded), exact_costs(self.costs)


def random_program(
    seed: int,
    *,
    size: int | None = None,
    steps: int = 8,
    contention: str | None = None,
    eager: bool | None = None,
    without: Collection[str] = (),
    wildcards: bool = False,
    pools: bool = False,
    masters: bool = False,
    decimal: bool = False,
    network: bool = False,
    topology: Topology | None = None,
) -> RandomProgram:
    """Return a program that can run to its end, the same one for the same arguments.

    Parameters
    ----------
    seed
        Any whole number.
    size
        Processes; 1 .. 8 by chance where not given.
    steps
        How many statements it has about; a loop is one.
    contention
        That of the machine; by chance where not given.
    eager
        Whether no message waits for its receive; by chance where not given.
    without
        What is left out, of `FEATURES`.
    wildcards
        Whether messages may be received from ``ANY``.
    pools
        Whether there may be tasks that go to whoever is free.
    masters
        Whether processes attend to these, some of the time.
    decimal
        Whether its numbers are decimals, not dyadic.
    network
        Whether the network may say more than its startup and bandwidth: what changes by size and
        level, headers, ports and so on. ``contention="fair"`` is of these.
    topology
        What connects the nodes.

    Raises
    ------
    UnknownNameError
        If what is left out is no feature.
    """
    for name in without:
        if name not in FEATURES:
            hint = did_you_mean(name, FEATURES) or f" Known: {', '.join(sorted(FEATURES))}."
            raise UnknownNameError(f"random programs have no feature {name!r}.{hint}")
    random = Random(seed)  # noqa: S311  # no secrets
    size = random.randint(1, 8) if size is None else size
    features = FEATURES - set(without)
    numbers = DECIMAL if decimal else DYADIC
    machine = random_machine(
        random,
        seed,
        size,
        features=features,
        contention=contention,
        eager=eager,
        numbers=numbers,
        network=network,
        topology=topology,
    )
    source = write(
        random,
        size,
        steps=steps,
        features=features,
        wildcards=wildcards,
        pools=pools,
        algorithms=machine.network.collectives or "",
        eager=machine.network.eager_limit is None,
        numbers=numbers,
    )
    if masters:
        source = with_masters(source, seed, size)
    dealt = [rank // machine.nodes.cores for rank in range(size)]
    shuffled = tuple(random.sample(dealt, size))
    mappings: list[str | tuple[int, ...]] = ["block", "cyclic", shuffled]
    return RandomProgram(
        seed=seed,
        source=source,
        size=size,
        machine=machine,
        disks=machine.storage.disks,
        mapping=random.choice(mappings),
    )
