"""Two forms of the kernel: plain Python for small questions, and compiled by numba.

The plain form is the source as it stands, and imports no numba. The compiled one is made of
copies of the kernel's modules, in which every function that is a `step` is compiled, and cached
between runs in a versioned user directory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from parcast.kernel_cache import kernel_cache


def step(function: Callable[..., Any]) -> Any:
    """Mark a function that is compiled with the kernel; it makes no arrays."""
    function.__dict__["step"] = True
    return function


def compiled(modules: Sequence[ModuleType], entry: str) -> Any:
    """Return the compiled form of the function ``entry`` of the last module.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own.
    """
    import numba

    config: Any = numba.config
    before = config.CACHE_DIR
    directory = Path(before) if before else kernel_cache("parcast-perturb")
    if directory is not None:
        config.CACHE_DIR = str(directory / sources())
    try:
        njit: Any = numba.njit
        cached = njit(nogil=True, no_cfunc_wrapper=True, cache=directory is not None)
        return _copied(modules, entry, cached)[-1].__dict__[entry]
    finally:
        config.CACHE_DIR = before


def _copied(modules: Sequence[ModuleType], entry: str, cached: Any) -> list[ModuleType]:
    """Return copies of modules that know each other, with their steps compiled.

    A step is put into its callers: a call would copy the hundreds of fields of its tuples.
    """
    import numba

    njit: Any = numba.njit
    inlined = njit(
        nogil=True, _nrt=False, error_model="numpy",
        no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True,
    )  # fmt: skip
    copies = [ModuleType(module.__name__) for module in modules]
    instead: dict[Any, Any] = dict(zip(modules, copies, strict=True))
    for module, copy in zip(modules, copies, strict=True):
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                form = cached if name == entry else inlined
                made = FunctionType(value.__code__, copy.__dict__, name, value.__defaults__)
                instead[value] = form(made) if "step" in value.__dict__ else value
    for module, copy in zip(modules, copies, strict=True):
        for name, value in vars(module).items():
            known = isinstance(value, (FunctionType, ModuleType))
            copy.__dict__[name] = instead.get(value, value) if known else value
    return copies


@cache
def sources() -> str:
    """Return a name for the kernel as it is.

    numba looks for changes in a function's own file only, and kernels call those of others.
    """
    files = sorted((Path(__file__).parent / "propagation").glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
