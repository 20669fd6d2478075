"""The calls of a rank, from a binary file of DUMPI.

Format: sst-dumpi, ``dumpi/common/io.c`` and ``iodefs.h``: numbers have their high bytes first; the
end of a file says where its parts begin, among them how many bytes each type has.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError
from parcast_traces.readers.dumpi.calls import Call
from parcast_traces.readers.dumpi.records import END, records

#: What a file begins with.
MAGIC = b"\xff\xaa\xddDUMPI"

_NUMBERS = {"i": struct.Struct(">i"), "h": struct.Struct(">h"), "b": struct.Struct(">b"),
            "q": struct.Struct(">q")}  # fmt: skip
_TIMES = struct.Struct(">HIHI")
_STATUS, _OLD_STATUS = struct.Struct(">iibbi"), struct.Struct(">iibb")
_LISTS = {"I": "i", "H": "h", "B": "b"}
_WHETHER_STATUS, _CPU, _WALL, _THREAD, _COUNTERS = 3, 4, 8, 64, 128
_ANY = -1


class File:
    """A file of a rank."""

    def __init__(self, path: Path) -> None:
        self.path, self.data = path, path.read_bytes()
        self.at = 0
        starts = self._index()
        self.at = starts["header"]
        self.version = tuple(self._several("b", 3))
        self.widths = self._widths(starts.get("sizes", 0))
        self.body = starts["body"]

    def _error(self, sentence: str) -> FileError:
        return FileError(f"{self.path}: byte {self.at:,}: {sentence}")

    def _index(self) -> dict[str, int]:
        """Return where the parts begin, which the end of the file says."""
        names = ("sizes", "addresses", "counters", "header", "body", "footer", "keys")
        for count in (7, 6, 5, 4):  # older versions have fewer
            at = len(self.data) - 8 * (count + 1)
            if at >= 0 and self.data[at : at + 8] == MAGIC:
                starts = struct.unpack_from(f">{count}Q", self.data, at + 8)
                if max(starts) > at:
                    break
                return dict(zip(names[-count:], starts, strict=True))
        self.at = len(self.data)
        raise self._error("the file does not end with its index; is it cut off?")

    def _widths(self, at: int) -> list[int]:
        """Return the bytes of each type."""
        if not at:
            return []
        self.at = at
        return self._list("i")

    def _take(self, form: struct.Struct) -> tuple[Any, ...]:
        if self.at < 0 or self.at + form.size > len(self.data):
            raise self._error("the file ends inside a call; is it cut off?")
        values = form.unpack_from(self.data, self.at)
        self.at += form.size
        return values

    def _number(self, kind: str) -> int:
        return int(self._take(_NUMBERS[kind])[0])

    def _several(self, kind: str, count: int) -> list[int]:
        width = _NUMBERS[kind].size
        if not 0 <= count * width <= len(self.data) - self.at:
            raise self._error(f"{count:,} values are more than the file has")
        values = struct.unpack_from(f">{count}{kind}", self.data, self.at)
        self.at += count * width
        return list(values)

    def _list(self, kind: str) -> list[int]:
        return self._several(kind, self._number("i"))

    def calls(self) -> Iterator[Call]:
        """Yield the calls in order.

        Raises
        ------
        FileError
            If the file is cut off.
        UnsupportedError
            If a call is none that is known, so that the next cannot be found.
        """
        table = records()
        self.at = self.body
        origins = self._number("i"), self._number("i")
        while (label := self._number("h")) != END:
            where = f"{self.path}: byte {self.at - 2:,}"
            if label not in table:
                raise UnsupportedError(f"{where}: call {label} of DUMPI is not read")
            name, fields = table[label]
            mask = self._number("b") & 255
            if mask & _THREAD:
                self._number("h")
            clocks = zip(origins, (_CPU, _WALL), strict=True)
            times = [self._times(origin) for origin, flag in clocks if mask & flag]
            if not mask & _WALL:
                raise UnsupportedError(f"{where}: its calls have no wall time")
            for _ in range(2 * self._number("b") & 511 if mask & _COUNTERS else 0):
                self._number("q")
            values = self._fields(fields, mask)
            if not name.startswith("function_"):
                yield Call(name, *times[-1], values, where, self.widths)

    def _times(self, origin: int) -> tuple[int, int]:
        """Return the beginning and the end in ns."""
        begin, begin_ns, end, end_ns = self._take(_TIMES)
        return ((origin + begin) * 10**9 + begin_ns, (origin + end) * 10**9 + end_ns)

    def _fields(self, fields: Any, mask: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, kind in fields:
            if kind[0] != "?":
                values[name] = self._value(kind, mask)
            elif values["commrank"] == values["root"]:
                values[name] = self._value(kind[1], mask)
        values.pop("", None)
        return values

    def _value(self, kind: str, mask: int) -> Any:
        if kind in _NUMBERS:
            return self._number(kind)
        if kind in _LISTS:
            return self._list(_LISTS[kind])
        if kind == "s":
            return self._statuses() if mask & _WHETHER_STATUS else []
        if kind == "J":
            old = self.version < (0, 6, 9)
            return [self._number("i")] if old else self._list("i")
        if kind == "C":
            return self._skip(self._number("i"))
        count = self._number("i")
        if kind == "T" and self.version < (0, 6, 2):
            self._number("i")  # how many, once more
        for _ in range(count):
            if kind == "T":
                self._skip(self._number("i"))
            else:
                self._list("i")
        return None

    def _skip(self, count: int) -> None:
        if not 0 <= count <= len(self.data) - self.at:
            raise self._error(f"a text of {count:,} bytes is more than the file has")
        self.at += count

    def _statuses(self) -> list[tuple[int, int, int, int]]:
        """Return bytes, whether cancelled, source and tag of each status."""
        count = self._number("i")
        form = _STATUS if self.version >= (0, 6, 3) else _OLD_STATUS
        if count * form.size > len(self.data) - self.at:
            raise self._error(f"{count:,} statuses are more than the file has")
        statuses = []
        for _ in range(count):
            size, source, cancelled, _, *tag = self._take(form)
            statuses.append((size, cancelled, source, tag[0] if tag else _ANY))
        return statuses
