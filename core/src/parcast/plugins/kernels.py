"""Kernels of plugins: plain Python for small questions, compiled by numba for large ones."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, wraps
from typing import Any, TypeVar

from parcast.plugins.machine_code import compile_kernel, is_cached, name_in_cache, own_file

T = TypeVar("T")


class Kernel:
    """A function in two forms that give the same numbers: plain Python, and compiled by numba.

    The plain form answers small questions at once. The compiled one is loaded, which takes a second
    or more, when the steps of the plain one, over all calls of the process, would take as long;
    where no earlier run has compiled it, it is compiled when they would take as long as that.

    Parameters
    ----------
    plain
        The function.
    make
        Gives the compiled form; called at most once, whichever thread asks first.
    plain_steps
        Steps of the plain form, of all calls of the process, that take as long as loading.
    loaded_steps
        Steps that the plain form does sooner than a compiled one that is loaded is called.
    uncached_steps
        As ``plain_steps``, of a form that is not compiled yet; None: 20 times those.
    is_cached
        Says whether an earlier run has compiled it; None: so it is taken to be.
    """

    def __init__(
        self,
        plain: Callable[..., Any],
        make: Callable[[], Callable[..., Any]],
        *,
        plain_steps: int = 1_000_000,
        loaded_steps: int = 0,
        uncached_steps: int | None = None,
        is_cached: Callable[[], bool] | None = None,
    ) -> None:
        self.plain = plain
        self.plain_steps = plain_steps
        self.loaded_steps = loaded_steps
        self.uncached_steps = 20 * plain_steps if uncached_steps is None else uncached_steps
        self._is_cached = is_cached or (lambda: True)
        self._make = call_once(make)
        self._loaded = False
        self._steps = 0

    @property
    def loaded(self) -> bool:
        """Whether the compiled form is there already."""
        return self._loaded

    @property
    def compiled(self) -> Callable[..., Any]:
        """The compiled form, loaded or made where it is not yet."""
        form = self._make()
        self._loaded = True
        return form

    def worth_compiling(self, steps: float) -> bool:
        """Return whether the compiled form answers so many more steps sooner."""
        if _COMPILING.get():
            return True
        if self._loaded:
            return steps > self.loaded_steps
        self._steps += int(min(steps, self.uncached_steps + 1))
        if self._steps <= self.plain_steps:
            return False
        return self._steps > self.uncached_steps or self._is_cached()

    def form(self, steps: float) -> Callable[..., Any]:
        """Return the form that answers a question of so many steps soonest."""
        return self.compiled if self.worth_compiling(steps) else self.plain


#: Whether questions are asked for the sake of what they compile.
_COMPILING: ContextVar[bool] = ContextVar("compiling", default=False)


@contextmanager
def compiling() -> Iterator[None]:
    """Let every `Kernel` answer by its compiled form, however small the question is."""
    token = _COMPILING.set(True)
    try:
        yield
    finally:
        _COMPILING.reset(token)


def kernel(
    distribution: str,
    *,
    plain_steps: int = 1_000_000,
    loaded_steps: int = 2_000,
    uncached_steps: int | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function of its own, which calls no other, a `Kernel`.

    A step of the plain form is taken to be 0.1 us, one of the compiled form a tenth of that.
    """

    def decorate(plain: Callable[..., Any]) -> Kernel:
        return Kernel(
            plain,
            partial(compile_kernel, plain, distribution),
            plain_steps=plain_steps,
            loaded_steps=loaded_steps,
            uncached_steps=uncached_steps,
            is_cached=partial(is_cached, name_in_cache(plain), distribution, own_file(plain)),
        )

    return decorate


def call_once(make: Callable[[], T]) -> Callable[[], T]:
    """Return ``make`` called at most once: of several threads the first makes, the others wait."""
    lock = threading.Lock()
    whole = cache(make)

    @wraps(make)
    def call() -> T:
        with lock:
            return whole()

    return call


@contextmanager
def without_collection() -> Iterator[None]:
    """Keep Python's garbage collector off while plain forms make many objects, all of them needed.

    It would search ever more of them, which may take as long as all the rest. What is dropped
    meanwhile is freed as ever, unless it holds itself.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
