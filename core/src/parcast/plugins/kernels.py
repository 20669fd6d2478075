"""Kernels of plugins: plain Python for small questions, compiled by numba for large ones.

Compiled forms are cached in a user directory for each distribution and version.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial, wraps
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class Kernel:
    """A function in two forms that give the same numbers: plain Python, and compiled by numba.

    The plain form answers small questions at once. The compiled one is loaded, which takes a second
    or more, when the steps of the plain one, over all calls of the process, would take as long.

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
    """

    def __init__(
        self,
        plain: Callable[..., Any],
        make: Callable[[], Callable[..., Any]],
        *,
        plain_steps: int = 1_000_000,
        loaded_steps: int = 0,
    ) -> None:
        self.plain = plain
        self.plain_steps = plain_steps
        self.loaded_steps = loaded_steps
        self._make = call_once(make)
        self._loaded = False
        self._steps = 0

    @property
    def compiled(self) -> Callable[..., Any]:
        """The compiled form, loaded or made where it is not yet."""
        form = self._make()
        self._loaded = True
        return form

    def worth_compiling(self, steps: float) -> bool:
        """Return whether the compiled form answers so many more steps sooner."""
        if self._loaded:
            return steps > self.loaded_steps
        self._steps += int(min(steps, self.plain_steps + 1))
        return self._steps > self.plain_steps

    def form(self, steps: float) -> Callable[..., Any]:
        """Return the form that answers a question of so many steps soonest."""
        return self.compiled if self.worth_compiling(steps) else self.plain


def kernel(
    distribution: str, *, plain_steps: int = 1_000_000, loaded_steps: int = 2_000
) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a function of its own, which calls no other, a `Kernel`.

    A step of the plain form is taken to be 0.1 us, one of the compiled form a tenth of that.
    """

    def decorate(plain: Callable[..., Any]) -> Kernel:
        make = partial(compile_kernel, plain, distribution)
        return Kernel(plain, make, plain_steps=plain_steps, loaded_steps=loaded_steps)

    return decorate


def compile_kernel(
    function: Callable[..., Any],
    distribution: str,
    sources: Iterable[Path] = (),
    *,
    signature: Any = None,
    config: Mapping[str, Any] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Return numba's form of a function, cached between runs where that is possible.

    Parameters
    ----------
    function
        A function that numba compiles.
    distribution, sources
        As in `cached_kernels`.
    signature
        The types to compile for at once; without it each call's types are compiled when they come.
    config
        Values of ``numba.config`` while it is compiled, with a ``signature``.
    options
        Of ``numba.njit``.
    """
    import numba

    settings: Any = numba.config
    with cached_kernels(distribution, sources) as cached:
        before = {name: getattr(settings, name) for name in config or ()}
        try:
            for name, value in (config or {}).items():
                setattr(settings, name, value)
            njit: Any = numba.njit
            return njit(signature, cache=cached, **options)(function)  # type: ignore[no-any-return]
        finally:
            for name, value in before.items():
                setattr(settings, name, value)


def kernel_cache(distribution: str) -> Path | None:
    """Return a directory for the compiled kernels of ``distribution``, made if need be.

    An installed package is never written to, and an upgrade never meets old machine code. When it
    is made, a terminal is told why the first answer takes longer.

    Returns
    -------
    Path or None
        None where no such directory can be written.
    """
    from platformdirs import user_cache_path

    name = f"{distribution}-{version(distribution)}"
    directory = user_cache_path("parcast") / "kernels" / name
    first = not directory.exists()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if first and sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(f"{distribution} compiles its kernels, once; this takes seconds\n")
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except OSError:
        return None


@contextmanager
def cached_kernels(distribution: str, sources: Iterable[Path] = ()) -> Iterator[bool]:
    """Let numba keep what is decorated meanwhile, between runs; say whether it can.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own directory.

    Parameters
    ----------
    distribution
        The one that ships the kernels, such as ``"parcast-spmd"``.
    sources
        All files that a kernel is made of. numba looks for changes in the function's own file
        only, so one that calls functions of other files names these.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    config: Any = numba.config
    files = tuple(sources)
    with global_compiler_lock:  # another thread would take this directory for the user's own
        before = config.CACHE_DIR
        directory = Path(before) if before else kernel_cache(distribution)
        if directory is not None:
            config.CACHE_DIR = str(directory / _fingerprint(files) if files else directory)
        try:
            yield directory is not None
        finally:
            config.CACHE_DIR = before


def call_once(make: Callable[[], T]) -> Callable[[], T]:
    """Return ``make`` called at most once: of several threads the first makes, the others wait."""
    lock = threading.Lock()
    whole = cache(make)

    @wraps(make)
    def call() -> T:
        with lock:
            return whole()

    return call


@cache
def _fingerprint(files: tuple[Path, ...]) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
