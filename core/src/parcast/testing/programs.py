"""Random programs and machines on which every family must agree with the references.

Every number is dyadic: amounts are whole, rates powers of two and times whole multiples of a
power of two, so that sums are exact in floats and answers can be compared with ``==``. They are
coarse besides, so that ties are frequent. With ``decimal`` they are as coarse in decimals, whose
sums are not exact: what is simultaneous is then told by `RandomProgram.exact` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from random import Random

import attrs

from parcast.errors import UnknownNameError, did_you_mean
from parcast.model.costs import Costs
from parcast.model.fabric import Topology
from parcast.model.following import WHOLE_NETWORK
from parcast.model.machine import (
    LocalNetwork,
    Machine,
    Network,
    NodeGroup,
    Nodes,
    Processor,
    Storage,
)
from parcast.model.query import Query
from parcast.program import Program, Unrolled
from parcast.program.unroll.offloading import timed_on_accelerators
from parcast.testing.exact import exact_costs, exact_program
from parcast.testing.masters import with_masters
from parcast.testing.networks import with_more
from parcast.testing.writer import DECIMAL, DYADIC, Numbers, write

#: What `random_program` can leave out.
FEATURES = frozenset(
    {
        *("compute", "elapse", "memory", "io", "loops", "regions", "start"),
        *("pairs", "shifts", "requests", "sendrecv", "self", "collectives", "colors"),
        # of the machine
        *("algorithms", "local", "weights", "overhead", "sender", "aggregators", "in-network"),
    }
)

_ALGORITHMS = (
    "allreduce ring",
    "allreduce tree",
    "allgather ring",
    "allgatherv ring",
    "alltoall pairwise, reduce_scatter pairwise",
    "bcast linear, reduce linear, gather linear, scatter linear, scan linear",
)

#: More of them, chosen apart from all else. They cut vectors by powers of two alone.
_LATER_ALGORITHMS = (
    """allreduce recursive-doubling, bcast knomial, reduce rabenseifner, alltoall linear,
    reduce_scatter recursive-halving, allgather bruck, scan recursive-doubling,
    barrier recursive-doubling, allgatherv recursive-doubling, alltoallv linear""",
    """allreduce rabenseifner, bcast split-binary, reduce in-order-binary, gather linear-sync,
    scatter linear-nb, alltoall modified-bruck, reduce_scatter butterfly, allgather neighbor,
    allgatherv neighbor, alltoallv scattered, barrier linear""",
    """allreduce hierarchical, bcast hierarchical, reduce hierarchical, allgather hierarchical,
    gather hierarchical, scatter hierarchical, barrier hierarchical tree""",
    "mpich",
)

#: What switches may do.
_IN_NETWORK = (
    "allreduce in-network, barrier in-network, reduce in-network, bcast in-network",
    "allreduce hierarchical in-network, barrier in-network, bcast hierarchical in-network",
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
    fair = contention == "fair"
    machine = _machine(random, size, features, None if fair else contention, eager, numbers)
    if "algorithms" in features:
        machine = _with_later_algorithms(machine, seed)
    if "in-network" in features:
        machine = _with_switches(machine, seed, topology, fair=fair)
    if "aggregators" in features:
        machine = _with_aggregators(machine, seed)
    if network or fair:
        machine = _with_more(machine, seed, numbers, fair=fair, topology=topology)
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


def _with_later_algorithms(machine: Machine, seed: int) -> Machine:
    """Return a machine that may name algorithms where it names none, all else as it is."""
    random = Random(f"algorithms of {seed}")  # noqa: S311  # no secrets
    text = random.choice([None, None, *_LATER_ALGORITHMS])
    if text is None or machine.network.collectives is not None:
        return machine
    network = attrs.evolve(machine.network, collectives=text)
    return attrs.evolve(machine, parts={**machine.parts, "network": network})


def _with_switches(
    machine: Machine, seed: int, topology: Topology | None, *, fair: bool
) -> Machine:
    """Return a machine whose switches may do some collectives, where it has any."""
    network, random = machine.network, Random(f"switches of {seed}")  # noqa: S311  # no secrets
    text = random.choice([None, None, None, *_IN_NETWORK])
    has_none = network.contention == "bus" and not fair
    if text is None or has_none or not (topology is None or topology.is_tree):
        return machine
    network = attrs.evolve(network, collectives=text)
    return attrs.evolve(machine, parts={**machine.parts, "network": network})


def _with_aggregators(machine: Machine, seed: int) -> Machine:
    """Return a machine some of whose processes may access files for the others."""
    random = Random(f"aggregators of {seed}")  # noqa: S311  # no secrets
    storage = attrs.evolve(machine.storage, aggregators=random.choice([None, None, 1, 2, 3]))
    return attrs.evolve(machine, parts={**machine.parts, "storage": storage})


def _with_more(
    machine: Machine, seed: int, numbers: Numbers, *, fair: bool, topology: Topology | None
) -> Machine:
    network = with_more(machine.network, seed, machine.nodes.cores, numbers, fair=fair)
    parts = {**machine.parts, "network": network}
    return attrs.evolve(
        machine, parts=parts if topology is None else parts | {"topology": topology}
    )


def _machine(
    random: Random,
    size: int,
    features: Collection[str],
    contention: str | None,
    eager: bool | None,
    numbers: Numbers,
) -> Machine:
    milli, mega = numbers.milli, numbers.mega

    def pick(feature: str, *values: float | None) -> float | None:
        return random.choice(values) if feature in features else values[0]

    cores = int(pick("local", 1, 1, 2, 3) or 1)
    nodes = -(-size // cores)
    weights = [pick("weights", 1.0, 1.0, *numbers.weights) or 1.0 for _ in range(nodes)]
    network = _network(random, pick, features, contention, eager, numbers)
    parts = {
        "processor": Processor(
            rate=mega,
            boost=(pick("weights", 1.0, 1.0, 2.0) or 1.0) if cores == 2 else 1.0,
        ),
        "nodes": Nodes(
            cores=cores,
            memory_bandwidth=pick("memory", None, mega, 2 * mega),
            core_bandwidth=pick("memory", None, mega),
            groups=tuple(NodeGroup(count=1, weight=weight) for weight in weights),
        ),
        "network": network,
        "storage": Storage(
            layout=random.choice(["bus", "cluster"]),
            disks=random.choice([1, 2, 4]),
            bandwidth=random.choice([mega / 2, 2 * mega]),
            startup=random.choice([0.0, milli / 2]),
        ),
    }
    return Machine(name="random", parts=parts)


def _network(
    random: Random,
    pick: Callable[..., float | None],
    features: Collection[str],
    contention: str | None,
    eager: bool | None,
    numbers: Numbers,
) -> Network:
    milli, mega = numbers.milli, numbers.mega
    limit = random.choice([None, 0.0, *numbers.limits])
    if eager is not None:
        limit = None if eager else limit or 0.0
    local = LocalNetwork(
        startup=random.choice([0.0, milli / 4]), bandwidth=random.choice([None, 4 * mega])
    )
    return Network(
        startup=random.choice([0, 1, 1, 2, 3]) * random.choice([milli, milli / 4]),
        bandwidth=random.choice([mega / 2, mega, 2 * mega]),
        overhead=pick("overhead", 0.0, 0.0, milli / 2, milli) or 0.0,
        overhead_receive=pick("overhead", None, None, 0.0, milli / 4),
        overhead_per_byte=pick("overhead", 0.0, 0.0, 0.5 / mega) or 0.0,
        eager_limit=limit,
        contention=contention or random.choice(["none", "endpoint", "bus"]),  # type: ignore[arg-type]
        paid_by="sender" if pick("sender", 0, 0, 0, 1) else "wire",
        collectives=random.choice([None, *_ALGORITHMS]) if "algorithms" in features else None,
        local=local if pick("local", 0, 0, 1) else None,
    )
