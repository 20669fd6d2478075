"""The calls of a rank, as `dumpi2ascii` prints them or as a binary file has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.text import lines

_EDGE = re.compile(r"(MPI\w*_\w+) (entering|returning) at walltime (\d+)\.(\d{9})\b.*")
_FIELD = re.compile(r"[\w ]+? (\w+)(?:\[[\d\]\[]*)?")
#: What the file says of itself before its first call; behind the last it counts them.
_ABOUT = re.compile(r"[a-z]+=.*")
_STATUS = re.compile(r"\{bytes=(-?\d+), cancelled=(\d+), source=(-?\d+), tag=(-?\d+), ")


#: Bytes of the types that MPI names.
_SIZES = {
    "CHAR": 1, "SIGNED_CHAR": 1, "UNSIGNED_CHAR": 1, "BYTE": 1, "PACKED": 1, "WCHAR": 4,
    "SHORT": 2, "UNSIGNED_SHORT": 2, "INT": 4, "UNSIGNED": 4, "FLOAT": 4, "LONG": 8,
    "UNSIGNED_LONG": 8, "DOUBLE": 8, "LONG_DOUBLE": 16, "LONG_LONG_INT": 8, "LONG_LONG": 8,
    "UNSIGNED_LONG_LONG": 8, "FLOAT_INT": 8, "DOUBLE_INT": 12, "LONG_INT": 12, "SHORT_INT": 6,
    "2INT": 8, "LONG_DOUBLE_INT": 20,
}  # fmt: skip

#: The types that MPI names, by DUMPI's numbers.
_TYPES = (
    "ERROR", "NULL", "CHAR", "SIGNED_CHAR", "UNSIGNED_CHAR", "BYTE", "WCHAR", "SHORT",
    "UNSIGNED_SHORT", "INT", "UNSIGNED", "LONG", "UNSIGNED_LONG", "FLOAT", "DOUBLE", "LONG_DOUBLE",
    "LONG_LONG_INT", "UNSIGNED_LONG_LONG", "LONG_LONG", "PACKED", "LB", "UB", "FLOAT_INT",
    "DOUBLE_INT", "LONG_INT", "SHORT_INT", "2INT", "LONG_DOUBLE_INT",
)  # fmt: skip


@attrs.frozen
class Call:
    """A call, its arguments as text, or as numbers, lists and statuses."""

    name: str
    start: int  #: ns
    end: int
    fields: Mapping[str, Any]
    where: str
    widths: Sequence[int] = ()  #: bytes of types, by number, where the file says them

    def value(self, name: str) -> Any:
        """Return an argument."""
        if name not in self.fields:
            raise FileError(f"{self.where}: {self.name} lacks {name}")
        return self.fields[name]

    def whole(self, name: str) -> int:
        """Return an argument as a whole number, the first of several."""
        value = self.value(name)
        if isinstance(value, int):
            return value
        word = value.strip("[] ").split(" ")[0]
        try:
            return int(word)
        except ValueError:
            raise FileError(f"{self.where}: {name} of {self.name} must be a whole number, not "
                            f"{shorten(word)!r}") from None  # fmt: skip

    def several(self, name: str) -> list[int]:
        """Return an argument as whole numbers."""
        value = self.value(name)
        if isinstance(value, str):
            return [int(number) for number in re.findall(r"-?\d+", value)]
        return value if isinstance(value, list) else [value]

    def width(self, number: int) -> int:
        """Return how many bytes a value of a type has that no call made."""
        if 0 <= number < len(self.widths):
            return self.widths[number]
        if 0 <= number < len(_TYPES) and _TYPES[number] in _SIZES:
            return _SIZES[_TYPES[number]]
        raise UnsupportedError(f"{self.where}: the size of type {number} is not known")

    def statuses(self) -> list[tuple[int, int, int, int]]:
        """Return bytes, whether cancelled, source and tag of each status."""
        value = self.fields.get("statuses", self.fields.get("status", ""))
        if not isinstance(value, str):
            return list(value)
        return [(int(a), int(b), int(c), int(d)) for a, b, c, d in _STATUS.findall(value)]

    def completed(self) -> list[int]:
        """Return which of the requests it completed, by their positions."""
        count = len(self.requests())
        if self.name.endswith("some"):
            return self.several("indices")[: self.whole("outcount")]
        if self.name.startswith("test") and not self.whole("flag"):
            return []
        if self.name.endswith("any"):
            return [index for index in [self.whole("index")] if 0 <= index < count]
        return list(range(count))

    def requests(self) -> list[int]:
        """Return the requests that it was given."""
        return self.several("requests" if "requests" in self.fields else "request")


@lru_cache(4096)
def _field(head: str) -> str:
    """Return the name of an argument from what stands before its value."""
    match = _FIELD.fullmatch(head)
    return match[1] if match else ""


def calls_of(path: Path) -> Iterator[Call]:
    """Yield the calls of a rank in order."""
    name, start, fields, where, word = "", 0, dict[str, str](), "", ""
    file = str(path)
    for number, text in lines(path):
        if " at walltime " in text and (edge := _EDGE.fullmatch(text)):
            time = int(edge[3]) * 1_000_000_000 + int(edge[4])
            word = edge[1].lower().removeprefix("mpi_")
            if edge[2] == "entering" and not name:
                name, start, fields, where = word, time, {}, f"{file}:{number}"
            elif edge[2] == "returning" and word == name:
                yield Call(name, start, time, fields, where)
                name = ""
            else:
                raise FileError(f"{path}:{number}: {edge[1]} is {edge[2]} inside {name or 'none'}; "
                                "is the file damaged?")  # fmt: skip
        elif not text or not name:
            about = word == "finalize" or (not where and _ABOUT.fullmatch(text))
            if text and not about:
                raise FileError(f"{path}:{number}: {shorten(text)!r} is no line of dumpi2ascii")
        else:
            head, equals, value = text.partition("=")
            if equals and (field := _field(head)):
                fields[field] = value
    if name:
        raise FileError(f"{where}: MPI_{name.capitalize()} never returns; is the file cut off?")
