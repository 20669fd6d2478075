"""The networks of a machine: what a message takes of which one, and what is shared on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import SIGNAL, Costs, Machine, Query
from parcast_petri.machine.links import Duplex, Links, OtherNetwork
from parcast_petri.options import Options

#: The number of no network.
NO_NETWORK = -1


@attrs.frozen(kw_only=True)
class Wires:
    """One network between nodes: the machine's own, or one of its further ones."""

    number: int  #: 0: the machine's own
    contention: Literal["none", "fair", "endpoint", "bus"]
    per_byte: float  #: of one message; of the machine's own network that of the smallest
    startup: float | None = None  #: None: as the costs of messages say
    own_per_byte: float | None = None  #: likewise
    duplex: Duplex = "full"
    backbone: float | None = None  #: of all its messages together, relative to that of one
    nodes: frozenset[int] | None = None  #: None: all

    def name(self, word: str) -> str:
        """Return the name of something on this network."""
        return f"{word}_{self.number}" if self.number else word


def networks_of(query: Query, costs: Costs) -> tuple[Wires, ...]:
    """Return the networks of a query's machine, its own first.

    Raises
    ------
    UnsupportedError
        If what the machine says of its links has no meaning.
    """
    links = query.machine.part("links", Links) or Links()
    _check_links(links, query.machine)
    main = Wires(
        number=0,
        contention=costs.contention,
        per_byte=costs.per_byte,
        duplex=links.duplex,
        backbone=_backbone("links", links.backbone, costs.contention, costs.per_byte),
    )
    if links.networks and query.machine.network.paid_by == "sender":
        raise UnsupportedError(
            "links.networks have messages on their way, and with network.paid_by = 'sender' there "
            "are none; set network.paid_by to 'wire'"
        )
    further = [_other(at, stated, main) for at, stated in enumerate(links.networks, 1)]
    return (main, *further)


def _check_links(links: Links, machine: Machine) -> None:
    """Refuse links that say what the machine's network says otherwise."""
    network, cores = machine.network, machine.nodes.cores
    if network.contention == "fair" and links != Links():
        raise UnsupportedError(
            "links are of ports that contention 'endpoint' or 'bus' names, and network.contention "
            "is 'fair'; state network.duplex, and a topology for all that is between ports"
        )
    changes = any(size.bandwidth is not None for size in network.sizes) or any(
        level.bandwidth is not None for level in network.levels if level.size > cores
    )
    if links.backbone is not None and changes:
        raise UnsupportedError(
            "links.backbone is relative to one bandwidth of all messages, and network.sizes or "
            "network.levels state several; set network.contention to 'fair' and state a topology"
        )


def refuse_sharing(networks: Sequence[Wires], options: Options) -> None:
    """Refuse options that do not say how these networks are shared."""
    for wires in networks:
        if reason := _refusal(wires, options):
            raise UnsupportedError(f"petri.sharing = {options.sharing!r} {reason}")


def _refusal(wires: Wires, options: Options) -> str | None:
    """Return why a network cannot be shared in this way, or None."""
    sharing = options.sharing
    if wires.contention == "fair" and sharing not in ("max_min", "none"):
        return (
            "is of a bus or of ports, and network.contention is 'fair'; leave it out, or set it to "
            "max_min or none"
        )
    if wires.contention == "fair" and sharing == "max_min" and options.startup == "inside":
        return "and contention 'fair' share no startups; set petri.startup to outside"
    if wires.contention == "endpoint" and sharing in ("fixed_batch", "fixed_sequential"):
        return (
            "is that of one medium for all, and contention is 'endpoint'; set petri.sharing to "
            "ps_transfer, ps_all, max_min or fcfs"
        )
    if sharing == "fcfs" and wires.backbone is not None:
        return "serves ports, no backbone; set petri.sharing to ps_transfer, ps_all or max_min"
    if sharing == "fcfs" and wires.contention != "none" and options.servers == "single":
        return "serves messages in order already; set petri.servers to infinite"
    if sharing == "fcfs" and wires.contention != "none" and options.startup == "inside":
        return "has its startups after the bus or the ports; set petri.startup to outside"
    return None


def _other(number: int, stated: OtherNetwork, main: Wires) -> Wires:
    own_per_byte = None if stated.bandwidth is None else 1 / stated.bandwidth
    per_byte = main.per_byte if own_per_byte is None else own_per_byte
    contention = stated.contention or main.contention
    where = f"links.networks[{number - 1}]"
    return Wires(
        number=number,
        contention=contention,
        per_byte=per_byte,
        startup=stated.startup,
        own_per_byte=own_per_byte,
        duplex=stated.duplex or main.duplex,
        backbone=_backbone(where, stated.backbone, contention, per_byte),
        nodes=frozenset(stated.nodes),
    )


def _backbone(where: str, stated: float | None, contention: str, per_byte: float) -> float | None:
    """Return the bandwidth of a backbone relative to that of a message."""
    if stated is not None and contention != "endpoint":
        raise UnsupportedError(
            f"{where}.backbone is between ports, and contention is {contention!r}; set it to "
            "'endpoint'"
        )
    return None if stated is None else stated * per_byte


def network_numbers(networks: Sequence[Wires], src: Any, dst: Any) -> Any:
    """Return the number of the network that each message from node to node takes.

    Parameters
    ----------
    networks
        As `networks_of` gives them.
    src, dst
        Arrays of nodes.
    """
    numbers = np.zeros(len(src), np.int64)
    for wires in reversed(networks[1:]):
        assert wires.nodes is not None
        nodes = list(wires.nodes)
        numbers[np.isin(src, nodes) & np.isin(dst, nodes)] = wires.number
    return numbers


@attrs.frozen(eq=False)
class Routes:
    """Of messages, the network that each takes, its startup, and the seconds of its bytes."""

    network: list[int]  #: `NO_NETWORK`: it passes none
    startup: list[float]
    transfer: list[float]

    @classmethod
    def of(cls, costs: Costs, networks: Sequence[Wires], src: Any, dst: Any, size: Any) -> Routes:
        """Return the routes of messages of ``size`` bytes between these ranks."""
        return cls(*(column.tolist() for column in routes(costs, networks, src, dst, size)))


def routes(
    costs: Costs, networks: Sequence[Wires], src: Any, dst: Any, size: Any
) -> tuple[Any, Any, Any]:
    """Return the network of each message, its startup, and the seconds of its bytes.

    Signals, which cost nothing, pass no network.
    """
    node, within = costs.placement.node, costs.placement.same_node(src, dst)
    network = network_numbers(networks, node[src], node[dst])
    network[np.broadcast_to(np.equal(size, SIGNAL), network.shape)] = NO_NETWORK
    startup, transfer = costs.latency(src, dst, size), costs.transfer(src, dst, size)
    for wires in networks[1:]:
        takes = ~within & (network == wires.number)
        if wires.startup is not None:
            startup = np.where(takes, wires.startup, startup)
        if wires.own_per_byte is not None:
            alone = costs.on_wire(src, dst, size) * wires.own_per_byte
            transfer = np.where(takes, alone, transfer)
    return network, startup, transfer
