"""How much numba optimizes what a kernel calls: less than the kernel, of which it becomes a part.

numba compiles every function that a kernel calls by itself first and optimizes it as if it were
called from Python, then once more as a part of each of its callers. The last of these alone runs.
"""

from __future__ import annotations

from functools import cache
from types import CodeType
from typing import Any

#: LLVM's level for what a kernel calls. Without any, code grows from caller to caller; with the
#: second, a quarter of what is gained is lost.
_LEVEL = 1


def sooner_compiled(kernel: CodeType) -> None:
    """Have what a kernel calls optimized little when the kernel is compiled."""
    _kernels().add(kernel)


@cache
def _kernels() -> set[CodeType]:
    """Return the kernels, after telling numba to say what it compiles."""
    import numba
    from numba.core import event

    settings: Any = numba.config
    events: Any = event
    kernels: set[CodeType] = set()
    compiling: list[bool] = []  #: of each function that waits for the next, whether it is a kernel
    before: list[Any] = []

    class Listener(event.Listener):
        """Changes the level from the first function that a kernel calls to the last one's end."""

        def on_start(self, event: Any) -> None:
            if compiling == [True]:
                before.append(settings.OPT)
                settings.OPT = type(settings.OPT)(_LEVEL)
            compiling.append(event.data["dispatcher"].py_func.__code__ in kernels)

        def on_end(self, event: Any) -> None:  # noqa: ARG002  (as numba calls it)
            compiling.pop()
            if len(compiling) == 1 and before:
                settings.OPT = before.pop()

    events.register("numba:compile", Listener())
    return kernels
