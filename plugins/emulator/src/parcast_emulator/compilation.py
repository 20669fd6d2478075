"""Compiled kernels, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from parcast.plugins import cached_kernels, compile_kernel, is_cached

#: Steps make no arrays, so nothing counts references, which threads would do one after another.
_STEP: Mapping[str, bool] = {"nogil": True, "_nrt": False, "no_cfunc_wrapper": True}

#: Those that become a part of the functions that call them.
_INLINED: Mapping[str, bool] = {"no_cpython_wrapper": True, "forceinline": True}


def step(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call; it makes no arrays.

    Called from Python it ends the process: it has no wrapper, which takes a third of the
    compilation.
    """
    return _deferred(function, no_cpython_wrapper=True)


def shared_step(function: Callable[..., Any]) -> Any:
    """Compile a function, as `step`, that plain Python calls, too."""
    return _deferred(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function, as `step`, into those that call it.

    A call copies all arrays of its arguments; where that would take longer than the function.
    """
    return _deferred(function, **_INLINED)


def kept(function: Callable[..., Any]) -> Any:
    """Compile a function, as `inlined`, once for all kernels that call it, and keep it."""
    with cached_kernels(function, "parcast-emulator", _sources(), "inlined") as (placed, cached):
        return _deferred(placed, **_INLINED, cache=cached)


def _deferred(function: Callable[..., Any], **options: bool) -> Any:
    """Return a function that is compiled with the kernel that calls it.

    numba sets its target up at the first of them, and holds a lock of its own meanwhile: a thread
    that does so before it has the compiler's would wait for one that compiles, and that for it.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    njit: Any = numba.njit
    with global_compiler_lock:
        return njit(function, **_STEP, **options)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; compiled, it runs beside other threads."""
    return compile_kernel(
        function, "parcast-emulator", _sources(), nogil=True, no_cfunc_wrapper=True
    )


def kernel_of_flows(function: Callable[..., Any]) -> Any:
    """Compile a function, as `kernel`, that calls the steps of shared links."""
    from parcast_network.sharing.compiled import register

    register()
    return compile_kernel(
        function, "parcast-emulator", _sources_of_flows(), nogil=True, no_cfunc_wrapper=True
    )


def ranks_are_cached() -> bool:
    """Return whether the kernel of programs whose messages share no links is compiled."""
    return is_cached("ranks.run", "parcast-emulator", _sources())


def flows_are_cached() -> bool:
    """Return whether the kernel of programs whose messages share links is compiled."""
    return is_cached("flows.run", "parcast-emulator", _sources_of_flows())


def _sources_of_flows() -> tuple[Path, ...]:
    from parcast_network.sharing.compiled import SOURCES

    return (*_sources(), *SOURCES)


@cache
def _sources() -> tuple[Path, ...]:
    """Return the files of all kernels: they call each other."""
    return tuple(sorted((Path(__file__).parent / "engines").rglob("*.py")))
