"""The loops of a kernel summed, in plain Python for few of them and compiled for many."""

from __future__ import annotations

from typing import Any

import numpy as np

from parcast.plugins import kernel


@kernel("parcast-roofline")
def sum_of_slower(work: Any, data: Any) -> Any:
    """Return the seconds of all loops, each as long as the slower of operations and data."""
    total = 0.0
    for loop in range(len(work)):
        total += max(work[loop], data[loop])
    return total


def warm() -> None:
    """Compile the kernel, for ``parcast warm``."""
    sum_of_slower.compiled(np.ones(1), np.ones(1))
