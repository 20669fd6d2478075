"""Compiled kernels, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba

from parcast.kernel_cache import kernel_cache


def step(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: Python must not; it makes no arrays.

    It is put into its callers: a call would copy the hundreds of fields of its named tuples.
    """
    njit: Any = numba.njit
    return njit(
        function, nogil=True, _nrt=False, error_model="numpy",
        no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True,
    )  # fmt: skip


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own.
    """
    njit: Any = numba.njit
    with _cached() as cache:
        return njit(function, cache=cache, nogil=True, no_cfunc_wrapper=True)


def callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function now, for C to call; its ``address`` is what C wants."""
    cfunc: Any = numba.cfunc
    with _cached() as cache:
        return cfunc(signature, cache=cache)(function)


@contextmanager
def _cached() -> Iterator[bool]:
    """Let numba keep what is compiled here in parcast's directory; say whether there is one."""
    config: Any = numba.config
    before = config.CACHE_DIR
    directory = Path(before) if before else kernel_cache("parcast-perturb")
    if directory is None:
        yield False
        return
    config.CACHE_DIR = str(directory / sources())
    try:
        yield True
    finally:
        config.CACHE_DIR = before


@cache
def sources() -> str:
    """Return a name for the kernels as they are.

    numba looks for changes in a function's own file only, and kernels call those of others.
    """
    files = sorted((Path(__file__).parent / "propagation").glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
