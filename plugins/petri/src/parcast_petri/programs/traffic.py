"""Messages of others on the machine's network: an even load, bursts, or messages like one's own."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from parcast.errors import UnsupportedError
from parcast.model import Query
from parcast_petri.machine.laws import Law
from parcast_petri.machine.links import Traffic
from parcast_petri.machine.load import Load
from parcast_petri.nets.net import Given
from parcast_petri.options import Options
from parcast_petri.programs.net_builder import NetBuilder
from parcast_petri.programs.nodes import InitialJobs, build_jobs
from parcast_petri.programs.rates import Link, Rates
from parcast_petri.programs.transfers import DRAINED


@attrs.frozen
class Source:
    """A source of bursts as a run begins: silent or not, for a time that is part over."""

    quiet: str
    first: tuple[str, str]  #: places of the first silence, and the first burst
    ends: tuple[int, int]  #: the transitions that end them
    laws: tuple[Law, Law]


def with_other_traffic(
    query: Query, options: Options, rates: Sequence[Rates], *, explicit: bool
) -> list[Rates]:
    """Return the rates of each network with the traffic of others on the first.

    Without ``explicit`` the traffic is even.

    Raises
    ------
    UnsupportedError
        If the network or the sharing has no place for it.
    """
    traffic, main = _traffic(query), rates[0]
    if traffic is None or not main.pairs:
        return list(rates)
    if main.wires.contention not in ("endpoint", "bus") or not main.wires.per_byte:
        raise UnsupportedError(
            "traffic is on a bus or on ports, and network.contention is "
            f"{main.wires.contention!r}, paid by {query.machine.network.paid_by}; set "
            "network.contention to bus or endpoint, paid by wire"
        )
    if traffic.message is not None and any(
        size.bandwidth is not None for size in query.machine.network.sizes
    ):
        raise UnsupportedError(
            "traffic.message is of one bandwidth, and network.sizes state several; leave out "
            "traffic.message for an even load, or state bursts by traffic.on and traffic.off"
        )
    if options.sharing not in DRAINED:
        raise UnsupportedError(
            f"petri.sharing = {options.sharing!r} cannot include traffic of others; set it to "
            "ps_transfer, ps_all or max_min"
        )
    names = [link.name for link in main.all_links() if link.name != main.wires.name("backbone")]
    if explicit and traffic.message is not None:
        return [attrs.evolve(main, others={name: f"others_{name}" for name in names}), *rates[1:]]
    if explicit and traffic.on is not None:
        share = repr(traffic.rate)
        shares = {name: f"{share}*(burst_{name} + first_burst_{name})" for name in names}
    else:
        shares = dict.fromkeys(names, repr(traffic.utilization))
    return [attrs.evolve(main, reserved=shares), *rates[1:]]


def _traffic(query: Query) -> Traffic | None:
    traffic = query.machine.part("traffic", Traffic)
    return traffic if traffic is not None and traffic.utilization > 0 else None


def random_traffic(query: Query) -> bool:
    """Tell whether others send at random on the machine's network."""
    traffic = _traffic(query)
    return traffic is not None and (traffic.message is not None or traffic.on is not None)


def build_messages(
    builder: NetBuilder, query: Query, rates: Rates
) -> tuple[list[InitialJobs], dict[str, Load]]:
    """Build the messages of others on each link; return those at first, and the links' loads."""
    traffic = _traffic(query)
    assert traffic is not None
    initial, loads = [], {}
    for link in rates.all_links():
        if link.name in rates.others:
            load = _load(traffic, rates.wires.per_byte)
            loads[link.name] = load
            initial += build_jobs(
                builder, link.name, load, rates.others[link.name], rates.other_speed(link)
            )
    return initial, loads


def _load(traffic: Traffic, per_byte: float) -> Load:
    law = Law.read(traffic.message, "B").scaled(per_byte)
    arrivals = Law.read(traffic.arrivals, "1")
    return Load(1, traffic.utilization, (law,), (1.0,), arrivals.scaled(1 / arrivals.mean))


def build_sources(builder: NetBuilder, query: Query, rates: Rates) -> list[Source]:
    """Build a source of bursts on each link."""
    traffic = _traffic(query)
    assert traffic is not None
    laws = Law.read(traffic.off), Law.read(traffic.on)
    return [
        _source(builder, link, laws) for link in rates.all_links() if link.name in rates.reserved
    ]


def _source(builder: NetBuilder, link: Link, laws: tuple[Law, Law]) -> Source:
    name = link.name
    quiet, burst = builder.place(f"quiet_{name}", 1), builder.place(f"burst_{name}")
    first = (builder.place(f"first_quiet_{name}"), builder.place(f"first_burst_{name}"))
    builder.transition(f"begin burst {name}", {quiet: 1}, {burst: 1}, delay=laws[0])
    builder.transition(f"end burst {name}", {burst: 1}, {quiet: 1}, delay=laws[1])
    ends = tuple(
        builder.transition(f"end {before}", {before: 1}, {after: 1}, delay=Given(1))
        for before, after in zip(first, (burst, quiet), strict=True)
    )
    return Source(quiet, first, (ends[0], ends[1]), laws)
