"""Looking for cycles of objects seldom enough."""

from __future__ import annotations

import gc


def seldom_collect() -> None:
    """Look for cycles less often: among the many small values of points it takes a tenth."""
    gc.set_threshold(100_000, 20, 20)
