"""Where plugins keep compiled kernels: a user directory for each distribution and version."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


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
