"""Which form of a kernel is worth it: plain Python, or compiled and kept between runs."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

from parcast.plugins import cached_kernels

#: Steps worth loading numba for, which takes a second or more, and worth a loaded kernel.
#: The first are counted over all calls.
#: The plain form takes about 0.1 us a step, the compiled one a tenth of that.
PLAIN_STEPS = 1_000_000
LOADED_STEPS = 2_000

_ready: set[Callable[..., Any]] = set()
_plain_steps: Counter[Callable[..., Any]] = Counter()  # of one process, call after call


@functools.cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the compiled form of a kernel, which calls no function of its own file."""
    import numba

    _ready.add(kernel)
    with cached_kernels("parcast-spmd") as cached:
        function: Callable[..., Any] = numba.njit(kernel, cache=cached)
    return function


def worth_compiling(kernel: Callable[..., Any], steps: float) -> bool:
    """Whether this many more steps of Python are too slow; both forms give the same numbers."""
    if kernel in _ready:
        return steps > LOADED_STEPS
    _plain_steps[kernel] += int(min(steps, PLAIN_STEPS + 1))
    return _plain_steps[kernel] > PLAIN_STEPS
