"""The part ``failures`` of a machine."""

from __future__ import annotations

from typing import Annotated

import attrs

from parcast import Unit


@attrs.frozen(kw_only=True)
class Failures:
    """Nodes fail independently of each other; one failure stops the whole job."""

    node_mtbf: Annotated[float, Unit("s", positive=True)]  #: mean time between failures of a node
    restart: Annotated[float, Unit("s")] = 0.0  #: from a failure until the job computes again
