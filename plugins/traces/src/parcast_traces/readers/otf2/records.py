"""The records of one location as rows of numbers, written by compiled callbacks.

The library calls a function for every record; these are compiled, and put what they are given into
a table. A record that Python handles costs 20 times as much.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from parcast_traces.compilation import callback
from parcast_traces.trace.columns import Ints

#: Kinds of records.
ENTER, LEAVE, SEND, ISEND, ISENT, IRECV_POST, RECV, IRECV, CANCELLED = range(9)
COLLECTIVE, PROBE, MANY_POST, MANY_DONE, ONE_SIDED, MATCHED = range(9, 15)

#: Columns: the kind, the time, and what the library gives, in its order.
WIDTH = 8

#: Errors beyond these say nothing new.
_MOST_ERRORS = 8

#: What a file of records begins with, the header of a chunk, unless the file is compressed; and
#: what it ends with: the end of the file, and of the buffer.
_START, _END = b"\x03", b"\x02\x01"

#: Rows read at once.
CHUNK = 1 << 15

#: Records by the library's names: their kinds, and the bits of their arguments.
_RECORDS: Mapping[str, tuple[int, Sequence[int]]] = {
    "Enter": (ENTER, (32,)),
    "Leave": (LEAVE, (32,)),
    "MpiSend": (SEND, (32, 32, 32, 64)),
    "MpiIsend": (ISEND, (32, 32, 32, 64, 64)),
    "MpiIsendComplete": (ISENT, (64,)),
    "MpiIrecvRequest": (IRECV_POST, (64,)),
    "MpiRecv": (RECV, (32, 32, 32, 64)),
    "MpiIrecv": (IRECV, (32, 32, 32, 64, 64)),
    "MpiRequestCancelled": (CANCELLED, (64,)),
    "MpiCollectiveEnd": (COLLECTIVE, (8, 32, 32, 64, 64)),
    "MpiProbe": (PROBE, (32, 32, 32, 64)),
    "NonBlockingCollectiveRequest": (MANY_POST, (64,)),
    "NonBlockingCollectiveComplete": (MANY_DONE, (8, 32, 32, 64, 64, 64)),
}
_REFUSED: Mapping[int, Sequence[str]] = {
    ONE_SIDED: (
        "RmaWinCreate", "RmaWinDestroy", "RmaCollectiveBegin", "RmaCollectiveEnd", "RmaGroupSync",
        "RmaRequestLock", "RmaAcquireLock", "RmaTryLock", "RmaReleaseLock", "RmaSync",
        "RmaWaitChange", "RmaPut", "RmaGet", "RmaAtomic", "RmaOpCompleteBlocking",
        "RmaOpCompleteNonBlocking", "RmaOpTest", "RmaOpCompleteRemote",
    ),
    MATCHED: ("MpiMrecv", "MpiImrecvRequest", "MpiImrecv"),
}  # fmt: skip


@cache
def _writer(kind: int, widths: tuple[int, ...]) -> Any:
    """Return a compiled callback that writes one kind of record."""
    from numba import types

    arguments = [getattr(types, f"uint{width}") for width in widths]
    wide = types.uint64
    pointer: Any = types.CPointer
    where = pointer(types.int64)
    signature = types.int32(wide, wide, wide, where, types.voidptr, *arguments)
    return callback(_writing_function(kind, len(widths)), signature)


def _writing_function(kind: int, count: int) -> Callable[..., int]:
    """Return the function for a number of arguments; row 0 holds how many there are."""
    if count == 0:

        def write(_1: Any, time: Any, _3: Any, rows: Any, _5: Any) -> int:
            at = WIDTH * (rows[0] + 1)
            rows[0] += 1
            rows[at], rows[at + 1] = kind, time
            return 0
    elif count == 1:

        def write(_1: Any, time: Any, _3: Any, rows: Any, _5: Any, a: Any) -> int:  # type: ignore[misc]
            at = WIDTH * (rows[0] + 1)
            rows[0] += 1
            rows[at], rows[at + 1], rows[at + 2] = kind, time, a
            return 0
    elif count == 4:

        def write(  # type: ignore[misc]
            _1: Any, time: Any, _3: Any, rows: Any, _5: Any, a: Any, b: Any, c: Any, d: Any
        ) -> int:
            at = WIDTH * (rows[0] + 1)
            rows[0] += 1
            rows[at], rows[at + 1], rows[at + 2], rows[at + 3] = kind, time, a, b
            rows[at + 4], rows[at + 5] = c, d
            return 0
    elif count == 5:

        def write(  # type: ignore[misc]
            _1: Any, time: Any, _3: Any, rows: Any, _5: Any, a: Any, b: Any, c: Any, d: Any, e: Any
        ) -> int:
            at = WIDTH * (rows[0] + 1)
            rows[0] += 1
            rows[at], rows[at + 1], rows[at + 2], rows[at + 3] = kind, time, a, b
            rows[at + 4], rows[at + 5], rows[at + 6] = c, d, e
            return 0
    else:

        def write(  # type: ignore[misc]
            _1: Any, time: Any, _3: Any, rows: Any, _5: Any, a: Any, b: Any, c: Any, d: Any,
            e: Any, f: Any,
        ) -> int:  # fmt: skip
            at = WIDTH * (rows[0] + 1)
            rows[0] += 1
            rows[at], rows[at + 1], rows[at + 2], rows[at + 3] = kind, time, a, b
            rows[at + 4], rows[at + 5], rows[at + 6] = c, max(d, e), f
            return 0

    return write


@cache
def hush() -> tuple[list[str], Any]:
    """Keep the C library from writing of errors; return where it now says them, and by what."""
    from _otf2.Config import lib_path

    library, errors = ctypes.CDLL(lib_path()), list[str]()
    library.OTF2_Error_GetDescription.restype = ctypes.c_char_p

    def note_error(_1: Any, _2: Any, _3: Any, _4: Any, code: int, _6: Any, _7: Any) -> int:
        if len(errors) < _MOST_ERRORS:
            errors.append(library.OTF2_Error_GetDescription(code).decode())
        return code

    handler = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p,
        ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p,
    )(note_error)  # fmt: skip
    library.OTF2_Error_RegisterCallback(handler, None)
    return errors, handler  # which must not be collected


class Library:
    """The C library inside the package, called without the package."""

    def __init__(self) -> None:
        from _otf2.Config import lib_path

        self.c = ctypes.CDLL(lib_path())
        self.callbacks = self._callbacks()

    def _callbacks(self) -> Any:
        new = self.c.OTF2_EvtReaderCallbacks_New
        new.restype = ctypes.c_void_p
        callbacks = ctypes.c_void_p(new())
        for name, (kind, widths) in _RECORDS.items():
            self._set(callbacks, name, _writer(kind, tuple(widths)))
        for kind, names in _REFUSED.items():
            for name in names:
                self._set(callbacks, name, _writer(kind, ()))
        return callbacks

    def _set(self, callbacks: Any, name: str, function: Any) -> None:
        setter = getattr(self.c, f"OTF2_EvtReaderCallbacks_Set{name}Callback", None)
        if setter is not None:  # older libraries lack some
            setter(callbacks, ctypes.c_void_p(function.address))

    def rows(self, archive: Any, location: Any, path: Path) -> Iterator[Ints]:
        """Yield the records of a location, a table of rows at a time, each used before the next.

        Where the location's file at ``path`` is cut off, the library reads on in what its memory
        held before. So the end of the file is looked at first, and the records are counted.

        Raises
        ------
        EOFError
            If the file has no end, or there are fewer records than the definitions say.
        """
        if not _has_end(path):
            raise EOFError(f"{path.name} does not end as files of OTF2 do")
        count = 0
        for read, rows in self._tables(archive, location):
            count += read
            yield rows
        if count < (recorded := int(location.number_of_events)):
            raise EOFError(f"{count:,} of {recorded:,} records are there")

    def _tables(self, archive: Any, location: Any) -> Iterator[tuple[int, Ints]]:
        """Yield how many records are read at once, and the rows of those that are known."""
        handle = ctypes.cast(archive.handle, ctypes.c_void_p)
        get = self.c.OTF2_Reader_GetEvtReader
        get.restype = ctypes.c_void_p
        reader = ctypes.c_void_p(get(handle, ctypes.c_uint64(location._ref)))  # noqa: SLF001
        if not reader.value:
            return
        table = np.zeros((CHUNK + 1, WIDTH), np.int64)
        data = ctypes.c_void_p(table.ctypes.data)
        self._check(self.c.OTF2_EvtReader_SetCallbacks(reader, self.callbacks, data))
        read, step = ctypes.c_uint64(CHUNK), self.c.OTF2_EvtReader_ReadEvents
        while read.value == CHUNK:
            table[0, 0] = 0
            self._check(step(reader, ctypes.c_uint64(CHUNK), ctypes.byref(read)))
            yield read.value, table[1 : 1 + int(table[0, 0])]
        self._check(self.c.OTF2_Reader_CloseEvtReader(handle, reader))

    def _check(self, code: int) -> None:
        if code:
            from _otf2.ErrorCodes import Error, ErrorCode

            raise Error(ErrorCode(code))


def _has_end(path: Path) -> bool:
    """Return if a file has its last bytes; one elsewhere, or compressed, is for the library."""
    if not path.is_file():
        return True
    with path.open("rb") as file:
        if file.read(1) not in (b"", _START):
            return True
        file.seek(max(0, path.stat().st_size - len(_END)))
        return file.read() == _END
