"""Two forms of the kernel: plain Python for small questions, and compiled by numba.

The plain form is the source as it stands, and imports no numba. The compiled one is made of
copies of the kernel's modules, in which every function that is a `step` is compiled, and cached
between runs in a versioned user directory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from parcast.plugins import announce, cached_kernels, call_once, compile_kernel

_NAME = "parcast-traces"


def step(function: Callable[..., Any]) -> Any:
    """Mark a function that is compiled with the kernel; it makes no arrays."""
    function.__dict__["step"] = True
    return function


def merged(function: Callable[..., Any]) -> Any:
    """Mark a `step` of one caller, whose code it becomes before it is compiled.

    Put in as others are, it would be compiled and optimized by itself first, with all that it
    calls, and once more in every caller of its caller.
    """
    function.__dict__["merged"] = True
    return step(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Return what compiles a function at its first call, and calls it."""

    @call_once
    def compiled_function() -> Callable[..., Any]:
        return compile_kernel(function, _NAME, _package(), nogil=True, no_cfunc_wrapper=True)

    @wraps(function)
    def call(*arguments: Any) -> Any:
        return compiled_function()(*arguments)

    return call


def callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function now, for C to call; its ``address`` is what C wants."""
    import numba

    cfunc: Any = numba.cfunc
    with cached_kernels(function, _NAME, _package(), str(signature)) as (placed, cached):
        return cfunc(signature, cache=cached)(placed)


def compiled(
    modules: Sequence[ModuleType],
    entry: str,
    distribution: str = _NAME,
    shared: Sequence[ModuleType] = (),
    *,
    lists: bool = False,
) -> Any:
    """Return the compiled form of the function ``entry`` of the last module.

    Parameters
    ----------
    modules
        The kernel's, those that are called before those that call them.
    entry
        The function's name.
    distribution
        The one that ships the kernel.
    shared
        Modules whose constants the kernel has.
    lists
        Whether it makes some.
    """
    import numba

    njit: Any = numba.njit
    files = files_of(modules, shared)
    announce(f"{modules[-1].__name__.rpartition('.')[2]}.{entry}", distribution, files)
    outermost = modules[-1].__dict__[entry]
    with cached_kernels(outermost, distribution, files) as (placed, cached):
        outer = njit(**_options(lists), cache=cached)
        called = _steps(tuple(modules[:-1]), lists)
        return _with_copy(called, modules[-1], lists, {outermost: (placed, outer)})[outermost]


def _options(lists: bool) -> dict[str, Any]:
    """Return how a kernel is compiled, and all that it calls."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    return options if lists else {**options, "_nrt": False}


@cache
def _steps(modules: tuple[ModuleType, ...], lists: bool) -> Mapping[Any, Any]:
    """Return a copy of each module, and what each of their functions is in these.

    Kernels that begin with the same modules share their steps, which compile once in a process.
    """
    return _with_copy(_steps(modules[:-1], lists), modules[-1], lists, {}) if modules else {}


def _with_copy(
    called: Mapping[Any, Any],
    module: ModuleType,
    lists: bool,
    outermost: Mapping[Any, tuple[FunctionType, Any]],
) -> dict[Any, Any]:
    """Return the same with a copy of a module that knows what it calls, its steps compiled.

    A step is put into its callers: a call would copy the hundreds of fields of its tuples.
    """
    import numba

    njit: Any = numba.njit
    inlined = njit(**_options(lists), no_cpython_wrapper=True, forceinline=True)
    merging = njit(inline="always")
    copy = ModuleType(module.__name__)
    instead: dict[Any, Any] = {**called, module: copy}
    for name, value in vars(module).items():
        if isinstance(value, FunctionType) and value.__module__ == module.__name__:
            form = merging if "merged" in value.__dict__ else inlined
            placed, form = outermost.get(value, (value, form))
            rebound = FunctionType(placed.__code__, copy.__dict__, name, value.__defaults__)
            instead[value] = form(rebound) if "step" in value.__dict__ else value
    for name, value in vars(module).items():
        replaceable = isinstance(value, (FunctionType, ModuleType))
        copy.__dict__[name] = instead.get(value, value) if replaceable else value
    return instead


def files_of(modules: Sequence[ModuleType], shared: Sequence[ModuleType] = ()) -> list[Path]:
    """Return the files of modules, and of those whose constants all kernels share."""
    package = Path(__file__).parent
    common = ("trace/calls.py", "trace/columns.py", "compilation.py")
    files = [Path(str(module.__file__)) for module in (*modules, *shared)]
    return [*files, *(package / name for name in common)]


@cache
def _package() -> tuple[Path, ...]:
    return tuple(sorted(Path(__file__).parent.rglob("*.py")))
