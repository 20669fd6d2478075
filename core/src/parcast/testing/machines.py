"""Random machines, whose numbers are as coarse as those of the programs that run on them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

import attrs

from parcast.model.fabric import Topology
from parcast.model.machine import (
    LocalNetwork,
    Machine,
    Network,
    NodeGroup,
    Nodes,
    Processor,
    Storage,
)
from parcast.testing.networks import with_more
from parcast.testing.writer import Numbers

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


def random_machine(
    random: Random,
    seed: int,
    size: int,
    *,
    features: Collection[str],
    contention: str | None,
    eager: bool | None,
    numbers: Numbers,
    network: bool,
    topology: Topology | None,
) -> Machine:
    """Return a machine for so many processes.

    Parameters
    ----------
    random
        What it is drawn by; what came later to be drawn has a generator of its own by the
        ``seed``, so that all else stays as it was.
    features, contention, eager, network, topology
        As of `parcast.testing.random_program`, but for what is left out.
    numbers
        What kind of numbers it has.
    """
    fair = contention == "fair"
    machine = _machine(random, size, features, None if fair else contention, eager, numbers)
    if "algorithms" in features:
        machine = _with_later_algorithms(machine, seed)
    if "handling" in features:
        machine = _with_handling(machine, seed, numbers)
    if "in-network" in features:
        machine = _with_switches(machine, seed, topology, fair=fair)
    if "aggregators" in features:
        machine = _with_aggregators(machine, seed)
    if network or fair:
        machine = _with_more(machine, seed, numbers, fair=fair, topology=topology)
    return machine


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


def _with_handling(machine: Machine, seed: int, numbers: Numbers) -> Machine:
    """Return a machine whose processes may need time to add up and to copy in collectives."""
    random = Random(f"handling of {seed}")  # noqa: S311  # no secrets
    bandwidths = [None, None, numbers.mega, 4 * numbers.mega]
    network = attrs.evolve(
        machine.network,
        reduction_bandwidth=random.choice(bandwidths),
        copy_bandwidth=random.choice(bandwidths),
        own_bandwidth=random.choice(bandwidths),
    )
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
