"""Compiling kernels when their module is imported, with a cache in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from parcast.kernel_cache import kernel_cache


def compiled(function: Callable[..., Any]) -> Any:
    """Return the numba form of a kernel, cached on disk between runs where that is possible.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own directory.
    """
    config: Any = numba.config
    before = config.CACHE_DIR
    directory = before or kernel_cache("parcast-mpi")
    if not directory:
        return numba.njit(function)
    config.CACHE_DIR = str(directory)
    try:
        return numba.njit(function, cache=True)
    finally:
        config.CACHE_DIR = before
