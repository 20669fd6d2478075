"""How much computations and messages of a host vary, as it was measured."""

from __future__ import annotations

from typing import Annotated

import attrs

from parcast import Unit
from parcast.quantities import Distribution

Seconds = Annotated[Distribution, Unit("s")]


@attrs.frozen(kw_only=True)
class Variability:
    """Empirical distributions: noise in quanta of fixed time, and the time of short messages."""

    #: length of the intervals in which ``lost`` is measured
    quantum: Annotated[float, Unit("s", positive=True)] | None = None
    lost: Seconds | None = None  #: of each quantum, to whatever else the processor did
    message: Seconds | None = None  #: one way of 8 bytes
