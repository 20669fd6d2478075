"""Where plugins keep compiled kernels: a user directory for each distribution and version."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any


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

    config: Any = numba.config
    before = config.CACHE_DIR
    directory = Path(before) if before else kernel_cache(distribution)
    if directory is None:
        yield False
        return
    files = tuple(sources)
    config.CACHE_DIR = str(directory / _fingerprint(files) if files else directory)
    try:
        yield True
    finally:
        config.CACHE_DIR = before


@cache
def _fingerprint(files: tuple[Path, ...]) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
