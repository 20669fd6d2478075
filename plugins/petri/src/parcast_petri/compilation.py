"""The compiled kernel, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any

from parcast.kernel_cache import kernel_cache
from parcast_petri.kernel import delays, enabling, game, heaps, ordinary, queues, timers


@cache
def compiled() -> Callable[..., Any]:
    """Return `game.run` compiled; its helpers are compiled with it as they stand.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own.
    """
    import numba
    from numba.extending import register_jitable

    from parcast_petri import entry

    for module in (heaps, delays, timers, enabling, queues, ordinary, game):
        for helper in vars(module).values():
            if isinstance(helper, FunctionType) and helper.__module__ == module.__name__:
                register_jitable(helper)
    config: Any = numba.config
    directory = Path(config.CACHE_DIR) if config.CACHE_DIR else kernel_cache("parcast-petri")
    whole, real = numba.types.int64, numba.types.float64
    signature = whole(whole[::1], real[::1], numba.types.npy_rng, whole)
    # the loops are short, so that to vectorize them costs a third of the compilation for nothing
    changes = {"OPT": type(config.OPT)(2), "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}
    if directory is not None:
        changes["CACHE_DIR"] = str(directory / _sources())
    with _configured(config, changes):
        found: Callable[..., Any] = numba.njit(signature, cache=directory is not None, nogil=True)(
            entry.run
        )
    return found


@contextmanager
def _configured(config: Any, changes: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(config, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def _sources() -> str:
    """Return a name for the kernel as it is; numba looks at the file of one function only."""
    files = sorted((Path(__file__).parent / "kernel").glob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
