"""What a network of stations, places and transitions is made of, for its chain of states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from parcast.errors import UnsupportedError
from parcast_spmd.mixed.times import Phases

#: In which order jobs are taken: ``tail`` is first come first served, ``head`` the last come first.
Order = Literal["tail", "head", "random"]
#: How jobs that are served at once share the servers
Share = Literal["equal", "by job", "by class"]
#: A node and a class, by position
Spot = tuple[int, int]


class StatesError(UnsupportedError):
    """A network whose states cannot be followed; a clause says why."""


class ManyStatesError(StatesError):
    """A network with too many states to solve all of them."""


@attrs.frozen(kw_only=True)
class Service:
    """Servers at a node, and who is served when."""

    kind: Literal["delay", "shared", "turns"]
    servers: int = 1
    #: By class: phases, ``0`` where a service takes no time, None where there is none
    times: tuple[Phases | Literal[0] | None, ...]
    means: tuple[float, ...]
    order: Order = "tail"
    #: By class: those of a lower rank go first
    ranks: tuple[float, ...]
    share: Share = "equal"
    weights: tuple[float, ...] = ()
    #: Most jobs, in service or waiting
    size: int | None = None
    #: By class: whether jobs that find no room are lost, or block the server that sends them
    full: tuple[Literal["lost", "blocks"], ...] = ()


@attrs.frozen(kw_only=True)
class Route:
    """Where jobs of a class go from a node, and what they turn into."""

    kind: Literal["chance", "shortest", "in turn"] = "chance"
    #: Probability by node and class; the nodes alone count where it is not by chance
    ways: Mapping[Spot, float]


@attrs.frozen(kw_only=True)
class Mode:
    """A way in which a transition fires."""

    name: str
    need: Mapping[Spot, int]
    stop: Mapping[Spot, int]  #: disabled by so many tokens
    give: Mapping[Spot, int]
    #: Firings a second of each server; None: immediate
    rate: float | None
    servers: int | None  #: None: one for each enabling
    priority: int = 0
    weight: float = 1.0


@attrs.frozen(kw_only=True)
class Node:
    """A station, source, sink, place, fork or join, or what takes no time."""

    name: str
    kind: Literal["station", "source", "sink", "pass", "fork", "join", "place"]
    service: Service | None = None
    #: By class, None where it has none, a sentence where it is not known
    routes: tuple[Route | str | None, ...] = ()
    #: By class, for a source
    arrivals: tuple[Phases | None, ...] = ()
    #: By class, for a fork: tasks by node
    tasks: tuple[Mapping[int, int] | None, ...] = ()


@attrs.frozen(kw_only=True)
class Region:
    """Nodes that hold so many jobs together; those beyond wait in front, or are lost."""

    name: str
    nodes: frozenset[int]
    most: int | None
    most_of: tuple[int | None, ...]
    weights: tuple[int, ...]  #: how much of ``most`` a job takes
    lost: tuple[bool, ...]


@attrs.frozen(kw_only=True)
class StatesModel:
    """A network, and where its closed jobs are at first."""

    nodes: tuple[Node, ...]
    classes: tuple[str, ...]
    closed: tuple[bool, ...]
    modes: tuple[Mode, ...]
    regions: tuple[Region, ...]
    #: Where each class is counted: a node by position, or None
    references: tuple[int | None, ...]
    initial: Mapping[Spot, int]
