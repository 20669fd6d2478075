"""How the processes of an application call for what they need."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import attrs

from parcast import Unit

Way: TypeAlias = Literal["non-blocking", "blocking"]


@attrs.frozen(kw_only=True)
class Coupling:
    """Without polling cost, and where no call blocks, processes lose no time."""

    polling: Annotated[float, Unit("s")] = 0.0  #: for each check whether a call has completed
    reads: Way = "non-blocking"  #: blocking: a process has one read under way and waits for it
    sends: Way = "non-blocking"  #: blocking: it waits until the port is done with the message
    computation: Way = "non-blocking"  #: blocking: it notices nothing while it computes
