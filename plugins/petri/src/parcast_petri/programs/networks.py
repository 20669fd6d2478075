"""The networks of a machine: what a message takes of which one, and what is shared on each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import Costs, Query
from parcast_petri.machine.links import Duplex, Links, OtherNetwork


@attrs.frozen(kw_only=True)
class Wires:
    """One network between nodes: the machine's own, or one of its further ones."""

    number: int  #: 0: the machine's own
    startup: float
    per_byte: float
    contention: Literal["none", "endpoint", "bus"]
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
    main = _wires(0, costs.startup, costs.per_byte, costs.contention, links.duplex, links.backbone)
    if links.networks and query.machine.network.paid_by == "sender":
        raise UnsupportedError(
            "links.networks have messages on their way, and with network.paid_by = 'sender' there "
            "are none; set network.paid_by to 'wire'"
        )
    further = [_other(at, stated, main) for at, stated in enumerate(links.networks, 1)]
    return (main, *further)


def _other(number: int, stated: OtherNetwork, main: Wires) -> Wires:
    return _wires(
        number,
        main.startup if stated.startup is None else stated.startup,
        main.per_byte if stated.bandwidth is None else 1 / stated.bandwidth,
        stated.contention or main.contention,
        stated.duplex or main.duplex,
        stated.backbone,
        frozenset(stated.nodes),
    )


def _wires(
    number: int,
    startup: float,
    per_byte: float,
    contention: Any,
    duplex: Duplex,
    backbone: float | None,
    nodes: frozenset[int] | None = None,
) -> Wires:
    where = f"links.networks[{number - 1}]" if number else "links"
    if backbone is not None and contention != "endpoint":
        raise UnsupportedError(
            f"{where}.backbone is between ports, and contention is {contention!r}; set it to "
            "'endpoint'"
        )
    return Wires(
        number=number,
        startup=startup,
        per_byte=per_byte,
        contention=contention,
        duplex=duplex,
        backbone=None if backbone is None else backbone * per_byte,
        nodes=nodes,
    )


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

    network: Any
    startup: Any
    transfer: Any

    @classmethod
    def of(cls, costs: Costs, networks: Sequence[Wires], src: Any, dst: Any, size: Any) -> Routes:
        """Return the routes of messages of ``size`` bytes between these ranks."""
        node, within = costs.placement.node, costs.placement.same_node(src, dst)
        network = network_numbers(networks, node[src], node[dst])
        startup = np.array([wires.startup for wires in networks])[network]
        per_byte = np.array([wires.per_byte for wires in networks])[network]
        return cls(
            network,
            np.where(within, costs.local_startup, startup),
            size * np.where(within, costs.local_per_byte, per_byte),
        )
