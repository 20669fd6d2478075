"""The compiled kernel, cached between runs in a versioned user directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from parcast.plugins import call_once, compile_kernel
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
    sources = sorted((Path(__file__).parent / "kernel").glob("*.py"))
    return compile_kernel(
        entry.run, "parcast-petri", sources, signature=signature, config=changes, nogil=True
    )
