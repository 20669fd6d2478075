"""What users may set: options of the family's solvers."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import attrs

from parcast.model import Machine, Query
from parcast.quantities import Unit, Whole

#: How messages share what the machine's contention says they share.
Sharing = Literal[
    "none", "fixed_batch", "fixed_sequential", "ps_all", "ps_transfer", "max_min", "fcfs"
]
Startup = Literal["outside", "inside"]
Servers = Literal["infinite", "single"]
Sends = Literal["nonblocking", "blocking"]
Memory = Literal["fixed", "ps"]


@attrs.frozen(kw_only=True)
class Options:
    """Options of every petri solver."""

    #: How messages share what ``network.contention`` names: ``fixed_batch`` and
    #: ``fixed_sequential`` divide the bandwidth once, by the messages when one starts (the
    #: paper), ``ps_all`` and ``ps_transfer`` whenever it changes, startups counted or not,
    #: ``max_min`` as ``ps_transfer`` and deals out again what one port leaves of another's, and
    #: ``fcfs`` serves one message at a time, as the other families do. Not stated: ``max_min`` of
    #: all links where contention is ``fair``, and ``ps_transfer`` else.
    sharing: Sharing | None = None
    #: Whether the startup of a message is divided as its bytes are
    startup: Startup = "outside"
    #: Whether messages of one statement of a process are on their way together or in turn
    servers: Servers = "infinite"
    #: Whether a sender goes on at once (above ``network.eager_limit`` it never does) or waits
    #: until its message has arrived
    sends: Sends = "nonblocking"
    #: How processes share their node's memory bandwidth: ``fixed`` among all of the node, as the
    #: other families do, ``ps`` among those that move bytes at the time
    memory: Memory = "fixed"

    def on(self, machine: Machine) -> Self:
        """Return the options as they are on a machine, with nothing left unstated."""
        if self.sharing is not None:
            return self
        fair = machine.network.contention == "fair"
        return attrs.evolve(self, sharing="max_min" if fair else "ps_transfer")


def options_of(query: Query) -> Options:
    """Return the options of a query, with nothing left unstated."""
    options: Options = query.options or Options()
    return options.on(query.machine)


@attrs.frozen(kw_only=True)
class SampledOptions(Options):
    """How random runs are sampled."""

    #: Half width of the 95 % interval over the mean
    tolerance: Annotated[float, Unit("1", positive=True)] = 0.01
    #: Runs at the most
    most: Annotated[int, Whole(10)] = 10_000
    #: Seconds, for the probability that the program ends by then
    deadline: Annotated[float, Unit("s")] | None = None
    #: One more quantile to tell, such as 0.95
    quantile: Annotated[float, Unit("1", most=1.0)] | None = None
    #: Whether nodes are in their steady state or idle when the program begins
    begin: Literal["steady", "idle"] = "steady"


def sampled_options(options: Options | None, **sampling: Any) -> SampledOptions:
    """Return the options of a model, with those of sampling it."""
    model = {
        field.name: getattr(options or Options(), field.name) for field in attrs.fields(Options)
    }
    return SampledOptions(**model, **sampling)
