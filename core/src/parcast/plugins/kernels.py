"""Kernels of plugins: plain Python for small questions, compiled by numba for large ones.

Compiled forms are cached in a user directory for each distribution and version.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, wraps
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

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
            is_cached=partial(is_cached, _name_in_cache(plain), distribution, _file_of(plain)),
        )

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
        As in `cached_kernels`; without sources, the function's own file.
    signature
        The types to compile for at once; without it each call's types are compiled when they come.
    config
        Values of ``numba.config`` while it is compiled, with a ``signature``.
    options
        Of ``numba.njit``.
    """
    import numba

    settings: Any = numba.config
    sources = tuple(sources) or _file_of(function)
    announce(_name_in_cache(function), distribution, sources)
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

    An installed package is never written to, and an upgrade never meets old machine code.

    Returns
    -------
    Path or None
        None where no such directory can be written, or the distribution is not installed.
    """
    try:
        directory = _own_cache(distribution)
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return directory
    except (OSError, PackageNotFoundError):
        return None


def _own_cache(distribution: str) -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("parcast") / "kernels" / f"{distribution}-{version(distribution)}"


def is_cached(name: str, distribution: str, sources: Iterable[Path] = ()) -> bool:
    """Return whether machine code of a kernel is cached, without importing numba.

    Parameters
    ----------
    name
        Of the kernel's module, without its packages, a dot, and the function's name.
    distribution, sources
        As in `cached_kernels`.
    """
    users, files = os.environ.get("NUMBA_CACHE_DIR"), tuple(sources)
    try:
        directory = Path(users) if users else _own_cache(distribution)
    except PackageNotFoundError:
        return False
    if files:
        directory /= _fingerprint(files)
    return any(directory.glob(f"*/{name}-*.nbc"))


def announce(name: str, distribution: str, sources: Iterable[Path] = ()) -> None:
    """Tell a terminal, once in a process, that a kernel that is not cached is compiled."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if terminal and not is_cached(name, distribution, sources):
        _say_once()


@cache
def _say_once() -> None:
    sys.stderr.write(
        "compiling a kernel, once, which takes seconds; parcast warm compiles all of them\n"
    )


def _file_of(function: Any) -> tuple[Path, ...]:
    return (Path(function.__code__.co_filename),)


def _name_in_cache(function: Callable[..., Any]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"


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
    """Tell files apart by place, time of change and text.

    numba takes machine code for that of another place or time; where it does, a kernel is not
    cached, although its text is the same.
    """
    digest = sha256()
    for file in files:
        digest.update(f"{file.resolve()} {file.stat().st_mtime_ns} ".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
