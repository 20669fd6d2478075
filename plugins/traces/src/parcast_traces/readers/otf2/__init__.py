"""OTF2 archives, as Score-P and others write them, through the C library of the `otf2` package.

Each MPI region is one call; what it did is said by the MPI records inside it. Receives are posted
where `MpiIrecvRequest` stands; their source and tag come with `MpiIrecv`.
"""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_traces.trace.columns import Trace

#: An anchor file has three texts, and then properties, from here on; it is short.
_TEXTS, _MOST_BYTES = 46, 1 << 20


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
            f"{path}: OTF2 needs a package: pip install 'parcast-traces[otf2]'"
        ) from None
    from parcast_traces.readers.otf2.archive import Archive
    from parcast_traces.readers.otf2.records import hush

    _check(path)
    hush()
    try:
        with redirect_stderr(StringIO()):  # where the package writes what fails in its callbacks
            opening = otf2.reader.open(str(path))
        with opening as opened:
            return Archive(opened, str(path)).trace()
    except (otf2.error.Error, Error) as error:
        raise FileError(f"{path} cannot be read as OTF2: {shorten(error)}") from None


def _check(path: Path) -> None:
    """Refuse what is no anchor file, or one changed so that the library reads it for minutes."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES)
    if data[:1] != b"\x03" or b"OTF2" not in data[:64]:
        raise FileError(f"{path} cannot be read as OTF2: it is no anchor file (*.otf2)")
    *_, properties = data[_TEXTS:].split(b"\0", 3)
    count = int.from_bytes(properties[:4], "little" if data[1:2] == b"B" else "big")
    if 2 * count > len(properties):  # a property is two texts, each ending in a zero
        raise FileError(f"{path} cannot be read as OTF2: it says that it has {count:,} properties, "
                        "and is too short for them")  # fmt: skip
