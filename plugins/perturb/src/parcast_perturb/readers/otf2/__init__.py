"""OTF2 archives, as Score-P and others write them, through the C library of the `otf2` package.

Each MPI region is one call; what it did is said by the MPI records inside it. Receives are posted
where `MpiIrecvRequest` stands; their source and tag come with `MpiIrecv`.
"""

from __future__ import annotations

from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_perturb.trace.columns import Trace


def read(path: Path) -> Trace:
    """Return the trace of an archive's anchor file.

    Raises
    ------
    FileError
        If the archive cannot be read, or the package is not installed.
    TraceError
        If no run can have left it.
    UnsupportedError
        If it holds one-sided communication or other records that are not modeled.
    """
    try:
        import otf2
        from _otf2.ErrorCodes import Error  # of the library, not of the package
    except ImportError:
        raise FileError(
            f"{path}: OTF2 needs a package: pip install 'parcast-perturb[otf2]'"
        ) from None
    from parcast_perturb.readers.otf2.archive import Archive

    _check(path)
    try:
        with otf2.reader.open(str(path)) as opened:
            return Archive(opened, str(path)).trace()
    except (otf2.error.Error, Error) as error:
        raise FileError(f"{path} cannot be read as OTF2: {shorten(error)}") from None


def _check(path: Path) -> None:
    """Refuse what is no anchor file, before the library writes of it what only it understands."""
    with path.open("rb") as file:
        if file.read(1) != b"\x03" or b"OTF2" not in file.read(64):
            raise FileError(f"{path} cannot be read as OTF2: it is no anchor file (*.otf2)")
