"""Both forms of the kernel; the compiled one is cached between runs in a user's directory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from parcast.plugins import Kernel, compile_kernel, is_cached
from parcast_petri.kernel import delays, enabling, game, heaps, ordinary, queues, shares, timers

#: What the kernel is made of, by which `is_cached` looks for it.
_SOURCES = sorted((Path(__file__).parent / "kernel").glob("*.py"))

#: Helpers make no arrays, so that nothing counts references, and nobody but the kernel calls them.
_HELPER: Any = {
    "nogil": True, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True
}  # fmt: skip


def _compiled() -> Callable[..., Any]:
    """Return `game.run` compiled; its helpers are compiled with it as they stand."""
    import numba
    from numba.extending import register_jitable

    from parcast_petri import entry

    for module in (heaps, delays, timers, enabling, queues, shares, ordinary, game):
        for helper in vars(module).values():
            if isinstance(helper, FunctionType) and helper.__module__ == module.__name__:
                register_jitable(**_HELPER)(helper)
    config: Any = numba.config
    whole, real = numba.types.int64, numba.types.float64
    signature = whole(whole[::1], real[::1], numba.types.npy_rng, whole)
    # the loops are short, so that to vectorize them costs a third of the compilation for nothing
    changes = {"OPT": type(config.OPT)(2), "LOOP_VECTORIZE": 0, "SLP_VECTORIZE": 0}
    return compile_kernel(
        entry.run, "parcast-petri", _SOURCES, signature=signature, config=changes, nogil=True
    )


#: The token game in both forms; a step is a firing, some 15 us in plain Python. To load the
#: compiled form takes 0.9 s, to compile it 7 s.
GAME = Kernel(
    game.run,
    _compiled,
    plain_steps=50_000,
    uncached_steps=500_000,
    is_cached=partial(is_cached, "entry.run", "parcast-petri", _SOURCES),
)
