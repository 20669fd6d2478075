"""Compiled kernels, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from parcast.plugins import compile_kernel


def step(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call; it makes no arrays.

    So it needs no counting of references, which threads would do one after another.
    """
    njit: Any = numba.njit
    return njit(function, nogil=True, _nrt=False)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function, as `step`, into those that call it.

    A call copies all arrays of its arguments; where that would take longer than the function.
    """
    njit: Any = numba.njit
    return njit(function, nogil=True, _nrt=False, forceinline=True)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; compiled, it runs beside other threads."""
    return compile_kernel(function, "parcast-emulator", _sources(), nogil=True)


@cache
def _sources() -> tuple[Path, ...]:
    """Return the files of all kernels: they call each other."""
    return tuple(sorted((Path(__file__).parent / "engines").rglob("*.py")))
