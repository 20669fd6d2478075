"""Where plugins keep compiled kernels: a user directory for each distribution and version."""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path


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
