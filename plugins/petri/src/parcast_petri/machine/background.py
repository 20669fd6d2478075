"""The part ``background`` of machines: the jobs of others on the nodes."""

from __future__ import annotations

from typing import Annotated, ClassVar

import attrs

from parcast.errors import ParcastError
from parcast.quantities import Unit

Share = Annotated[float, Unit("1")]


@attrs.frozen(kw_only=True)
class JobClass:
    """Jobs of one kind among the background."""

    share: Annotated[float, Unit("1", positive=True)]  #: of the utilization, relative to the others
    demand: str  #: law of a job's CPU time, such as "hyper:4,50ms"


@attrs.frozen(kw_only=True)
class Background:
    """Background jobs: how much of each core they use, and of what laws they are.

    ``utilization`` is of every core of every node; ``nodes`` states it node by node instead,
    and those beyond its end have none.
    """

    utilization: Share = 0.0  #: of every core of every node
    nodes: tuple[Share, ...] = ()  #: of the cores of each node, instead
    demand: str = "exp:1s"  #: law of a job's CPU time
    arrivals: str = "exponential"  #: law of the times between arrivals, of which the shape counts
    classes: tuple[JobClass, ...] = ()  #: instead of ``demand``
    #: "ps": equal shares; "priority": the background first; "rr:10ms": turns
    scheduling: str = "ps"
    #: of the time that a job is on a core, how much it moves bytes from and to memory: then it has
    #: a share of the node's bandwidth as a process has
    memory: Annotated[float, Unit("1", most=1.0)] = 0.0
    of_others: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        from parcast_petri.machine.laws import Law
        from parcast_petri.machine.turns import Turns

        if self.scheduling not in ("ps", "priority"):
            Turns.read(self.scheduling)
        for node, used in enumerate(self.nodes or (self.utilization,)):
            if not used < 1:
                where = f"nodes[{node}]" if self.nodes else "utilization"
                raise ParcastError(
                    f"{where} = {used:g} leaves a process no time; background jobs must use "
                    "less than 1 of each core"
                )
        for text in (self.demand, *(job_class.demand for job_class in self.classes)):
            if not Law.read(text).mean > 0:
                raise ParcastError(f"demand = {text!r}: background jobs need some CPU time")
        if not Law.read(self.arrivals, "1").mean > 0:
            raise ParcastError(f"arrivals = {self.arrivals!r}: the mean must be above 0")

    def of(self, node: int) -> float:
        """Return the utilization of each core of a node."""
        if self.nodes:
            return self.nodes[node] if node < len(self.nodes) else 0.0
        return self.utilization
