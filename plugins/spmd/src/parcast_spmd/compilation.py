"""Compiling kernels on first use, with a cache in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parcast.kernel_cache import kernel_cache


def compile_kernel(function: Callable[..., Any], distribution: str) -> Callable[..., Any]:
    """Return the numba form of a kernel, cached on disk between runs where that is possible.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own directory.

    Parameters
    ----------
    function
        A function within numba's nopython subset that calls no function of its own module.
    distribution
        The distribution that ships the kernel, such as ``"parcast-spmd"``.
    """
    import numba

    config: Any = numba.config
    if config.CACHE_DIR:
        return _decorated(function, cache=True)
    directory = kernel_cache(distribution)
    if directory is None:
        return _decorated(function, cache=False)
    config.CACHE_DIR = str(directory)
    try:
        return _decorated(function, cache=True)
    finally:
        config.CACHE_DIR = ""


def _decorated(function: Callable[..., Any], *, cache: bool) -> Callable[..., Any]:
    import numba

    compiled: Callable[..., Any] = numba.njit(function, cache=cache)
    return compiled
