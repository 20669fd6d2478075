"""Compiled kernels, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba

from parcast.kernel_cache import kernel_cache


def step(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call; it makes no arrays.

    So it needs no counting of references, which threads would do one after another.
    """
    njit: Any = numba.njit
    return njit(function, nogil=True, _nrt=False)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; compiled, it runs beside other threads.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own.
    """
    config: Any = numba.config
    before = config.CACHE_DIR
    directory = Path(before) if before else kernel_cache("parcast-emulator")
    if directory is None:
        return numba.njit(function, nogil=True)
    config.CACHE_DIR = str(directory / sources())
    try:
        return numba.njit(function, cache=True, nogil=True)
    finally:
        config.CACHE_DIR = before


@cache
def sources() -> str:
    """Return a name for the kernels as they are.

    numba looks for changes in a function's own file only, and kernels call those of others.
    """
    here = Path(__file__).parent
    files = sorted(file for name in ("engines", "programs") for file in (here / name).glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
