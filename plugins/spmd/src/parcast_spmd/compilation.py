"""Compiling kernels on first use, with a cache in a versioned user directory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs


def compile_kernel(function: Callable[..., Any], distribution: str) -> Callable[..., Any]:
    """Return the numba form of a kernel, cached on disk between runs where that is possible.

    The cache is in a user directory named after the distribution and its version, so that an
    installed package is never written to and an upgrade never meets old machine code. A
    ``NUMBA_CACHE_DIR`` set by the user wins.

    Parameters
    ----------
    function
        A function within numba's nopython subset that calls no function of its own module.
    distribution
        The distribution that ships the kernel, such as ``"parcast-spmd"``.
    """
    from numba import config

    settings: Any = config
    if settings.CACHE_DIR:
        return _decorated(function, cache=True)
    directory = _cache_directory(distribution)
    if directory is None:
        return _decorated(function, cache=False)
    settings.CACHE_DIR = str(directory)
    try:
        return _decorated(function, cache=True)
    finally:
        settings.CACHE_DIR = ""


def _decorated(function: Callable[..., Any], *, cache: bool) -> Callable[..., Any]:
    import numba

    compiled: Callable[..., Any] = numba.njit(function, cache=cache)
    return compiled


def _cache_directory(distribution: str) -> Path | None:
    """Return a directory that can be written, made if need be, or None."""
    name = f"{distribution}-{version(distribution)}"
    directory = platformdirs.user_cache_path("parcast") / "numba" / name
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        return None
