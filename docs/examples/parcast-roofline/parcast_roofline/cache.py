"""The ``cache`` part of a machine."""

from __future__ import annotations

from typing import Annotated

import attrs

from parcast import Unit


@attrs.frozen(kw_only=True)
class Cache:
    """The last cache that a process has for itself."""

    capacity: Annotated[float, Unit("B", positive=True)]
    bandwidth: Annotated[float, Unit("B/s", positive=True)]
