"""Compiling kernels when their module is imported, with a cache in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from parcast.plugins import cached_kernels


def compiled(function: Callable[..., Any]) -> Any:
    """Return the numba form of a kernel, cached on disk between runs where that is possible."""
    with cached_kernels("parcast-mpi") as cached:
        return numba.njit(function, cache=cached)
