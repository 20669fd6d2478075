"""The compiled kernel, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

from parcast.plugins import cached_kernels, call_once
from parcast_petri.kernel import delays, enabling, game, heaps, ordinary, queues, shares, timers


@call_once
def compiled() -> Callable[..., Any]:
    """Return `game.run` compiled; its helpers are compiled with it as they stand."""
    import numba
    from numba.extending import register_jitable

    from parcast_petri import entry

    for module in (heaps, delays, timers, enabling, queues, shares, ordinary, game):
        for helper in vars(module).values():
            if isinstance(helper, FunctionType) and helper.__module__ == module.__name__:
                register_jitable(helper)
    config: Any = numba.config
    whole, real = numba.types.int64, numba.types.float64
    signature = whole(whole[::1], real[::1], numba.types.npy_rng, whole)
    # the loops are short, so that to vectorize them costs a third of the compilation for nothing
    changes = {"OPT": type(config.OPT)(2), "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}
    with cached_kernels("parcast-petri", _sources()) as cached, _configured(config, changes):
        kernel: Callable[..., Any] = numba.njit(signature, cache=cached, nogil=True)(entry.run)
    return kernel


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


def _sources() -> list[Path]:
    return sorted((Path(__file__).parent / "kernel").glob("*.py"))
