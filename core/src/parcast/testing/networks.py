"""Random networks that say more than their startup and bandwidth."""

from __future__ import annotations

from random import Random
from typing import Any, Literal

import attrs

from parcast.model.machine import Network, NetworkLevel, NetworkSize
from parcast.testing.writer import Numbers


def with_more(network: Network, seed: int, cores: int, numbers: Numbers, fair: bool) -> Network:
    """Return a network with some of what a file may say beside.

    Parameters
    ----------
    network, cores
        The network, and the cores of its nodes.
    seed
        Of what is chosen.
    numbers
        Those that a program has.
    fair
        Whether messages share links, rather than as the network says.
    """
    random, detours, replies = (Random(seed + 2**40 * more) for more in range(3))  # noqa: S311
    milli, mega = numbers.milli, numbers.mega

    def some(*values: Any) -> Any:
        return random.choice([None, *values])

    sizes = tuple(
        NetworkSize(
            least=least,
            startup=some(milli / 2, 2 * milli),
            bandwidth=some(mega / 4, 4 * mega),
            overhead=some(0.0, milli / 4),
            overhead_receive=some(0.0, milli / 2),
            efficiency=some(0.5, 2.0),
            latency_factor=detours.choice([None, None, 0.0, 3.0]),
        )
        for least in sorted(random.sample([1.0, *numbers.limits, 2 * numbers.limits[-1]], 2))
    )
    levels = [
        NetworkLevel(
            name=f"level{size}",
            size=size,
            startup=some(0.0, milli / 8),
            bandwidth=some(8 * mega, mega),
            shared=some(2 * mega, 8 * mega),
        )
        for size in (1, cores, 2 * cores)
    ]
    count = random.randint(1, 2)
    ascending = sorted(
        {level.size: level for level in levels}.values(), key=lambda level: level.size
    )
    eager: Literal["buffered", "waits"] = random.choice(["buffered", "waits"])
    by: Literal["call", "message"] = random.choice(["call", "message"])
    return attrs.evolve(
        network,
        contention="fair" if fair else network.contention,
        paid_by="wire",
        sizes=random.choice([(), sizes[:1], sizes]),
        levels=random.choice([(), tuple(ascending[-count:])]),
        header=random.choice([0.0, 0.0, numbers.limits[0] / 4]),
        eager=eager,
        overhead_by=by,
        ports=random.choice([1, 1, 2]),
        port_bandwidth=some(mega / 2, 2 * mega),
        duplex=random.choice(["full", "full", "half"]),
        acknowledgements=replies.choice([0.0, 0.0, 0.05]) if fair else 0.0,
    )
