"""What loaded nodes do to computations: stretch them, or share a core with jobs in the net."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from parcast_petri.machine.laws import Law
from parcast_petri.machine.load import Load
from parcast_petri.nets.net import Given, Tokens
from parcast_petri.programs.net_builder import NetBuilder


@attrs.frozen
class Nodes:
    """The loaded nodes, and whether their jobs are part of the net."""

    loads: Mapping[int, Load] = attrs.field(factory=dict)
    explicit: bool = False


@attrs.frozen
class Renewals:
    """Arrivals with a memory, the first of which a run begins in the midst of."""

    first: str  #: the place that waits for the first
    later: str  #: and for the next ones
    transition: int  #: that ends the wait for the first
    law: Law


@attrs.frozen
class InitialJobs:
    """Jobs that are there when a run begins: their place, who ends them, and their law."""

    where: int | str  #: a node, or a link
    place: str
    transition: int
    law: Law
    share: float  #: of the jobs' work
    arrivals: Renewals | None = None  #: of jobs like these


def computing_load(node: int) -> str:
    """Return the name of the load that counts a node's computing processes."""
    return f"computing_{node}"


def process_speed(node: int, load: Load, others: int = 0) -> Tokens:
    """Return the speed of a process on a node, beside ``others`` that always compute."""
    mine, jobs = (
        (computing_load(node) if not others else f"{computing_load(node)} + {others}"),
        f"jobs_{node}",
    )
    if load.scheduling == "priority":
        return Tokens.read(f"min(1, max(0, {load.cores} - {jobs})/max(1, {mine}))")
    return Tokens.read(f"min(1, {load.cores}/max(1, {mine} + {jobs}))")


def build_node(builder: NetBuilder, node: int, load: Load, others: int = 0) -> list[InitialJobs]:
    """Build the background jobs of a node; return those that are there at first.

    Parameters
    ----------
    builder
        The net so far.
    node, load
        The node, which has a load.
    others
        Processes that compute all the time.
    """
    speed = process_speed(node, load, others)
    if load.scheduling == "priority":
        speed = Tokens.read(f"min(1, {load.cores}/max(1, jobs_{node}))")
    return build_jobs(builder, node, load, f"jobs_{node}", speed, others)


def build_jobs(
    builder: NetBuilder, where: int | str, load: Load, count: str, speed: Tokens, others: int = 0
) -> list[InitialJobs]:
    """Build jobs that come at random to a node or a link; return those that are there at first."""
    initial, most_old = [], len(load.jobs(others))
    running = {"load": count, "speed": speed, "servers": None}
    classes = zip(load.rates(), load.demands, load.shares, strict=True)
    for number, (rate, law, share) in enumerate(classes):
        name = f"{where} class {number}"
        jobs = builder.place(f"jobs {name}")
        arrivals = build_arrivals(builder, name, load.arrivals.scaled(1 / rate), jobs)
        builder.transition(f"work {name}", {jobs: 1}, {}, delay=law, **running)
        place = builder.place(f"old jobs {name}")
        moment = builder.transition(
            f"finish {name}", {place: 1}, {}, delay=Given(most_old), **running
        )
        initial.append(InitialJobs(where, place, moment, law, share, arrivals))
    return initial


def build_arrivals(builder: NetBuilder, name: str, law: Law, come: str) -> Renewals | None:
    """Build what brings tokens to a place; return what it is in the midst of when a run begins."""
    if law.law == "exp":
        builder.transition(f"arrive {name}", {}, {come: 1}, delay=law)
        return None
    first, later = builder.place(f"first {name}"), builder.place(f"more {name}", 1)
    moment = builder.transition(
        f"first arrives {name}", {first: 1}, {come: 1, later: 1}, delay=Given(1)
    )
    builder.transition(f"arrive {name}", {later: 1}, {come: 1, later: 1}, delay=law)
    return Renewals(first, later, moment, law)
