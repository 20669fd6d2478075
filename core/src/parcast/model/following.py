"""What a machine says of its network that not every solver follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from parcast.errors import UnsupportedError
from parcast.model.machine import Machine, Network
from parcast.model.messages import IN_NETWORK

#: What a machine may say of its network that not every solver follows, and whether it says so.
_SAYS: Mapping[str, Callable[[Network], bool]] = {
    "contention = 'fair'": lambda network: network.contention == "fair",
    "sizes": lambda network: bool(network.sizes),
    "sizes.efficiency": lambda network: any(size.efficiency for size in network.sizes),
    "sizes.latency_factor": lambda network: any(
        size.latency_factor is not None for size in network.sizes
    ),
    "levels": lambda network: bool(network.levels),
    "header": lambda network: network.header > 0,
    "acknowledgements": lambda network: (
        network.acknowledgements > 0 and network.contention == "fair"
    ),
    "weight_bytes": lambda network: (
        network.weight_bytes is not None and network.contention == "fair"
    ),
    "eager = 'waits'": lambda network: network.eager == "waits",
    "overhead_by = 'message'": lambda network: network.overhead_by == "message",
    f"collectives = '... {IN_NETWORK}'": lambda network: IN_NETWORK in (network.collectives or ""),
}

#: All of these: what a solver names that follows the whole network.
WHOLE_NETWORK = (*_SAYS, "topology")


def check_network(machine: Machine, follows: Collection[str] = ()) -> None:
    """Refuse a machine that says of its network what a solver does not follow.

    Raises
    ------
    UnsupportedError
        Naming the key.
    """
    network = machine.network
    keys = [key for key, stated in _SAYS.items() if key not in follows and stated(network)]
    if keys:
        raise UnsupportedError(
            f"machine {machine.name!r} states network.{keys[0]}, which this solver does not "
            "follow; 'parcast advise' names those that do"
        )
    if "topology" in machine.parts and "topology" not in follows:
        raise UnsupportedError(
            f"machine {machine.name!r} states a topology, which this solver does not follow; "
            "'parcast advise' names those that do"
        )
    if "topology" in machine.parts and network.contention in ("endpoint", "bus"):
        raise UnsupportedError(
            f"machine {machine.name!r} states a topology and network.contention = "
            f"{network.contention!r}, which has none; state 'fair' or 'none'"
        )
    if network.paid_by == "sender" and (
        network.sizes or network.levels or network.contention == "fair" or network.header
    ):
        raise UnsupportedError(
            f"machine {machine.name!r} states network.paid_by = 'sender', where messages take no "
            "time on the network; leave out sizes, levels, header and fair contention"
        )
