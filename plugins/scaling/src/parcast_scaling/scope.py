"""What is known of times beside them: whose network they are of, and whether a code computes.

Nothing measured tells of a sudden rise; these do, by how often public times of their kind rose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import attrs

from parcast.errors import ParcastError

if TYPE_CHECKING:
    from parcast import Registry


class Network(StrEnum):
    """Whose network it is."""

    CLOUD = "cloud"  #: jobs of others share it unseen
    CLUSTER = "cluster"


class Measures(StrEnum):
    """What the times are of."""

    COMMUNICATION = "communication"  #: alone, such as a benchmark of a collective
    CODE = "code"  #: which computes as well


@attrs.frozen(kw_only=True)
class Scope:
    """Of a series; None where nobody says."""

    network: Network | None = None
    measures: Measures | None = None

    def over(self, other: Scope) -> Scope:
        """Return this, and what another says where it says nothing."""
        return Scope(
            network=self.network or other.network, measures=self.measures or other.measures
        )


#: The columns of a table that state it.
STATED = ("network", "measures")


def scope_of_table(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Scope:
    """Return what the columns of a table state; other words than these in them are names."""
    words = [{str(row.get(column, "")).strip().lower() for _, row in rows} for column in STATED]
    return Scope(
        network=next((word for word in Network if words[0] == {word.value}), None),
        measures=next((word for word in Measures if words[1] == {word.value}), None),
    )


def scope_beside(
    registry: Registry, options: Scope, table: Scope, machine: str | None, where: str
) -> Scope:
    """Return what options state, else the table at ``where``, or the machine.

    Raises
    ------
    ParcastError
        If the table and the machine contradict each other, and no option says which is right.
    """
    cloud = registry.machine(machine).network.cloud if machine is not None else None
    stated = options.over(table)
    if cloud is None or options.network is not None:
        return stated
    network = Network.CLOUD if cloud else Network.CLUSTER
    if stated.network not in {None, network}:
        raise ParcastError(
            f"{where} states network = {stated.network}, and {machine} has a {network}'s; "
            "say which by --network"
        )
    return stated.over(Scope(network=network))
