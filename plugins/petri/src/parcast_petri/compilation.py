"""The compiled kernel, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

from parcast.kernel_cache import kernel_cache
from parcast_petri.kernel import delays, enabling, game, heaps, queues, timers


@cache
def compiled() -> Callable[..., Any]:
    """Return `game.run` compiled; its helpers are compiled with it as they stand.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own.
    """
    import numba
    from numba.extending import register_jitable

    for module in (heaps, delays, timers, enabling, queues, game):
        for helper in vars(module).values():
            if isinstance(helper, FunctionType) and helper.__module__ == module.__name__:
                register_jitable(helper)
    config: Any = numba.config
    before = config.CACHE_DIR
    directory = Path(before) if before else kernel_cache("parcast-petri")
    if directory is None:
        return _jitted(cache=False)
    config.CACHE_DIR = str(directory / _sources())
    try:
        return _jitted(cache=True)
    finally:
        config.CACHE_DIR = before


def _jitted(*, cache: bool) -> Callable[..., Any]:
    import numba

    found: Callable[..., Any] = numba.njit(game.run, cache=cache, nogil=True)
    return found


def _sources() -> str:
    """Return a name for the kernel as it is; numba looks at the file of one function only."""
    files = sorted((Path(__file__).parent / "kernel").glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
