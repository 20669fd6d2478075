"""Compiled kernels, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numba

from parcast.plugins import compile_kernel

#: Steps make no arrays, so nothing counts references, which threads would do one after another.
_STEP: Mapping[str, bool] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}


def step(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call; it makes no arrays.

    Called from Python it ends the process: it has no wrapper, which takes a third of the
    compilation.
    """
    njit: Any = numba.njit
    return njit(function, **_STEP, no_cpython_wrapper=True)


def shared_step(function: Callable[..., Any]) -> Any:
    """Compile a function, as `step`, that plain Python calls, too."""
    njit: Any = numba.njit
    return njit(function, **_STEP)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function, as `step`, into those that call it.

    A call copies all arrays of its arguments; where that would take longer than the function.
    """
    njit: Any = numba.njit
    return njit(function, **_STEP, no_cpython_wrapper=True, forceinline=True)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; compiled, it runs beside other threads."""
    return compile_kernel(
        function, "parcast-emulator", _sources(), nogil=True, no_cfunc_wrapper=True
    )


def kernel_of_flows(function: Callable[..., Any]) -> Any:
    """Compile a function, as `kernel`, that calls the steps of shared links."""
    from parcast_network.sharing.compiled import SOURCES, register

    register()
    return compile_kernel(
        function, "parcast-emulator", (*_sources(), *SOURCES), nogil=True, no_cfunc_wrapper=True
    )


@cache
def _sources() -> tuple[Path, ...]:
    """Return the files of all kernels: they call each other."""
    return tuple(sorted((Path(__file__).parent / "engines").rglob("*.py")))
