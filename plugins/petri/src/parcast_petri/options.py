"""What users may set: options of the family's solvers."""

from __future__ import annotations

from typing import Annotated, Literal

import attrs

from parcast.formulas import Unit, Whole
from parcast_petri.programs.transfers import Sharing


@attrs.frozen(kw_only=True)
class Options:
    """Options of every petri solver."""

    #: How messages share what ``network.contention`` names: ``fixed_batch`` and
    #: ``fixed_sequential`` divide the bandwidth once, by the messages when one starts (the
    #: paper), ``ps_all`` and ``ps_transfer`` whenever it changes, startups counted or not, and
    #: ``fcfs`` serves one message at a time, as the other families do.
    sharing: Sharing = "ps_transfer"


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
