"""The parts ``links`` and ``traffic`` of machines: ports, more networks, and messages of others."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import attrs

from parcast.errors import ParcastError
from parcast.model import Bandwidth, Seconds
from parcast.quantities import Unit, Whole

Duplex = Literal["full", "half"]
Share = Annotated[float, Unit("1")]


@attrs.frozen(kw_only=True)
class OtherNetwork:
    """A network of its own between some nodes; what it does not state is as in ``network``."""

    nodes: tuple[Annotated[int, Whole(0)], ...]  #: that it connects, counted from 0
    startup: Seconds | None = None  #: latency of a message
    bandwidth: Bandwidth | None = None  #: of one message
    contention: Literal["none", "endpoint", "bus"] | None = None  #: as in ``network``
    duplex: Duplex | None = None  #: half: a port sends and receives with one bandwidth
    backbone: Bandwidth | None = None  #: of all its messages together; unlimited where not stated

    def __attrs_post_init__(self) -> None:
        if len(set(self.nodes)) < 2 or len(set(self.nodes)) < len(self.nodes):
            raise ParcastError(
                f"nodes = {list(self.nodes)}: a network is between two or more different nodes"
            )


@attrs.frozen(kw_only=True)
class Links:
    """What more there is to say of the ``network``, and further networks.

    A message takes the first of ``networks`` that both its nodes are on, and else the machine's
    ``network``.
    """

    duplex: Duplex = "full"  #: half: a port sends and receives with one bandwidth
    backbone: Bandwidth | None = None  #: of all messages between nodes together
    networks: tuple[OtherNetwork, ...] = ()  #: further networks, between some nodes


@attrs.frozen(kw_only=True)
class Traffic:
    """Messages of others on the machine's ``network``: on the bus, or on every port.

    ``message`` is the law of their bytes: they come at random and share as the program's own
    do. With ``on`` and ``off``, laws of times, a source by turns takes its bandwidth off the top
    and is silent. With neither the load is even.
    """

    utilization: Share  #: of the bus, or of every port in either direction
    message: str | None = None  #: law of a message's bytes
    arrivals: str = "exponential"  #: law of the times between messages, of which the shape counts
    on: str | None = None  #: law of the time that a source sends
    off: str | None = None  #: law of the time that it is silent
    of_others: ClassVar[bool] = True

    def __attrs_post_init__(self) -> None:
        from parcast_petri.machine.laws import Law

        if not self.utilization < 1:
            raise ParcastError(
                f"utilization = {self.utilization:g} leaves messages no bandwidth; give less than 1"
            )
        if (self.on is None) != (self.off is None) or (self.on and self.message):
            raise ParcastError("traffic is of messages, or of bursts by both on and off, or even")
        for text, unit in ((self.message, "B"), (self.on, "s"), (self.off, "s")):
            if text is not None and not Law.read(text, unit).mean > 0:
                raise ParcastError(f"traffic of {text!r}: its mean must be above 0")
        if not Law.read(self.arrivals, "1").mean > 0:
            raise ParcastError(f"arrivals = {self.arrivals!r}: the mean must be above 0")
        if self.rate > 1:
            raise ParcastError(
                f"utilization = {self.utilization:g} in bursts of {self.on} with {self.off} "
                f"between them would take {self.rate:.3g} of the bandwidth; give longer bursts"
            )

    @property
    def rate(self) -> float:
        """The share of the bandwidth that is taken during a burst."""
        from parcast_petri.machine.laws import Law

        if self.on is None or self.off is None:
            return self.utilization
        on, off = Law.read(self.on).mean, Law.read(self.off).mean
        return self.utilization * (on + off) / on
