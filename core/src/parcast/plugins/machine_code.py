"""Compiled kernels, cached between runs in a user directory of each distribution and version.

A cached form is found by what it is made of: the text of its files, the code of all functions that
it calls, the constants that they use, and how it is compiled. numba itself looks at the function's
own file alone, and at its place: a constant of another module would go stale unseen, and every
new checkout or environment would compile all kernels again.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from parcast.plugins.ingredients import ingredients

#: How much LLVM optimizes what a kernel calls: little. numba compiles it by itself first, as if it
#: were called from Python, and once more as a part of each caller, of which the last alone runs.
#: Without any, code grows from caller to caller.
_STEPS = 1


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
    sources = tuple(sources) or own_file(function)
    announce(name_in_cache(function), distribution, sources)
    how = (str(signature), sorted((config or {}).items()), sorted(options.items()))
    with cached_kernels(function, distribution, sources, how) as (placed, cached):
        before = {name: getattr(settings, name) for name in config or ()}
        try:
            for name, value in (config or {}).items():
                setattr(settings, name, value)
            njit: Any = numba.njit
            return njit(signature, cache=cached, **options)(placed)  # type: ignore[no-any-return]
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

    return user_cache_path("parcast") / "kernels" / f"{distribution}-{_version(distribution)}"


#: Of a distribution; reading it takes longer than many a question that asks whether to compile.
_version = cache(version)


def is_cached(name: str, distribution: str, sources: Iterable[Path] = ()) -> bool:
    """Return whether machine code of a kernel is cached, without importing it or numba.

    The text of the files alone is looked at, so where a constant of another module has changed, it
    may say so of a kernel that is then compiled.

    Parameters
    ----------
    name
        Of the kernel's module, without its packages, a dot, and the function's name.
    distribution, sources
        As in `cached_kernels`.
    """
    users = os.environ.get("NUMBA_CACHE_DIR")
    try:
        directory = Path(users) if users else _own_cache(distribution)
    except PackageNotFoundError:
        return False
    return any((directory / _fingerprint(tuple(sources))).glob(f"*/*/{name}-*.nbc"))


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


def own_file(function: Any) -> tuple[Path, ...]:
    """Return the file that a function is written in, as the sources of its kernel."""
    return (Path(function.__code__.co_filename),)


def name_in_cache(function: Callable[..., Any]) -> str:
    """Return the name by which `is_cached` knows a kernel."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"


class Placed(NamedTuple):
    """A function as numba is to compile it, and whether numba can keep what it compiles."""

    function: Any
    cached: bool


@contextmanager
def cached_kernels(
    function: Any, distribution: str, sources: Iterable[Path], how: object = None
) -> Iterator[Placed]:
    """Let numba keep what is decorated meanwhile, between runs.

    A ``NUMBA_CACHE_DIR`` set by the user wins over parcast's own directory.

    Parameters
    ----------
    function
        The kernel: a plain function, which may call others.
    distribution
        The one that ships the kernel, such as ``"parcast-spmd"``.
    sources
        The files that it is made of, by which `is_cached` looks for it.
    how
        How it is compiled, where the same function is compiled in several ways.
    """
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    config: Any = numba.config
    with global_compiler_lock:  # another thread would take this directory for the user's own
        before = config.CACHE_DIR
        directory = Path(before) if before else kernel_cache(distribution)
        placed = _placed(function, directory, tuple(sources), how)
        _kernels().add(placed.function.__code__)
        if placed.cached:
            config.CACHE_DIR = str(own_file(placed.function)[0].parent)
        try:
            yield placed
        finally:
            config.CACHE_DIR = before


def _placed(
    function: Any, directory: Path | None, sources: tuple[Path, ...], how: object
) -> Placed:
    """Return a kernel as if it were written in a directory that its ingredients name.

    numba looks up machine code by the place of the function's file, which is that of a copy then:
    the same for every checkout that makes the same kernel.
    """
    if directory is None:
        return Placed(function, cached=False)
    (file,) = own_file(function)
    digest = _digest(file.read_bytes(), ingredients(function, how))
    home = directory.resolve() / _fingerprint(sources) / digest  # numba's look-up follows no link
    copy = home / file.name
    try:
        home.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            with tempfile.NamedTemporaryFile(dir=home, delete=False) as beside:
                beside.write(file.read_bytes())
            Path(beside.name).replace(copy)
    except OSError:
        return Placed(function, cached=False)
    code = function.__code__.replace(co_filename=str(copy))
    moved = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    moved.__module__, moved.__qualname__ = function.__module__, function.__qualname__
    moved.__doc__, moved.__kwdefaults__ = function.__doc__, function.__kwdefaults__
    return Placed(moved, cached=True)


@cache
def _fingerprint(files: tuple[Path, ...]) -> str:
    return _digest(*(file.read_bytes() for file in files))


def _digest(*texts: bytes) -> str:
    return sha256(b"".join(sha256(text).digest() for text in texts)).hexdigest()[:16]


@cache
def _kernels() -> set[CodeType]:
    """Return the kernels, for each of which numba is told of `_STEPS` while it is compiled."""
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
                settings.OPT = type(settings.OPT)(_STEPS)
            compiling.append(event.data["dispatcher"].py_func.__code__ in kernels)

        def on_end(self, event: Any) -> None:  # noqa: ARG002  (as numba calls it)
            del compiling[-1:]  # none, where another listener ended in an error
            if len(compiling) == 1 and before:
                settings.OPT = before.pop()

    events.register("numba:compile", Listener())
    return kernels
