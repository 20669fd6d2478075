"""How the processes of an application call for what they need."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import attrs

from parcast import Unit

CallMode: TypeAlias = Literal["non-blocking", "blocking"]


@attrs.frozen(kw_only=True)
class Coupling:
    """Without polling cost, and where no call blocks, processes lose no time."""

    polling: Annotated[float, Unit("s")] = 0.0  #: for each check whether a call has completed
    reads: CallMode = "non-blocking"  #: blocking: a process has one read under way and waits for it
    sends: CallMode = "non-blocking"  #: blocking: it waits until the port is done with the message
    computation: CallMode = "non-blocking"  #: blocking: it notices nothing while it computes

    @property
    def lossy(self) -> bool:
        """Whether processes lose time by waiting or checking."""
        return self.polling > 0 or "blocking" in {self.reads, self.sends, self.computation}
