"""The calls of a rank, as `dumpi2ascii` prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from parcast.errors import FileError, shorten
from parcast_traces.readers.text import lines

_EDGE = re.compile(r"(MPI\w*_\w+) (entering|returning) at walltime (\d+)\.(\d{9})\b.*")
_FIELD = re.compile(r"[\w ]+? (\w+)(?:\[[\d\]\[]*)?=(.*)")
_STATUS = re.compile(r"\{bytes=(-?\d+), cancelled=(\d+), source=(-?\d+), tag=(-?\d+), ")


@attrs.frozen
class Call:
    """A call, its arguments as text."""

    name: str
    start: int  #: ns
    end: int
    fields: Mapping[str, str]
    where: str

    def text(self, name: str) -> str:
        """Return an argument as text."""
        if name not in self.fields:
            raise FileError(f"{self.where}: {self.name} lacks {name}")
        return self.fields[name]

    def whole(self, name: str) -> int:
        """Return an argument as a whole number, the first of several."""
        word = self.text(name).strip("[] ").split(" ")[0]
        try:
            return int(word)
        except ValueError:
            raise FileError(f"{self.where}: {name} of {self.name} must be a whole number, not "
                            f"{shorten(word)!r}") from None  # fmt: skip

    def several(self, name: str) -> list[int]:
        """Return an argument as whole numbers."""
        return [int(number) for number in re.findall(r"-?\d+", self.text(name))]

    def statuses(self) -> list[tuple[int, int, int, int]]:
        """Return bytes, whether cancelled, source and tag of each status."""
        text = self.fields.get("statuses", self.fields.get("status", ""))
        return [(int(a), int(b), int(c), int(d)) for a, b, c, d in _STATUS.findall(text)]

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


def calls_of(path: Path) -> Iterator[Call]:
    """Yield the calls of a rank in order."""
    name, start, fields, where = "", 0, dict[str, str](), ""
    for number, text in lines(path):
        if edge := _EDGE.fullmatch(text):
            time = int(edge[3]) * 1_000_000_000 + int(edge[4])
            word = edge[1].lower().removeprefix("mpi_")
            if edge[2] == "entering" and not name:
                name, start, fields, where = word, time, {}, f"{path}:{number}"
            elif edge[2] == "returning" and word == name:
                yield Call(name, start, time, fields, where)
                name = ""
            else:
                raise FileError(f"{path}:{number}: {edge[1]} is {edge[2]} inside {name or 'none'}; "
                                "is the file damaged?")  # fmt: skip
        elif not text or not name:
            if text:
                raise FileError(f"{path}:{number}: {shorten(text)!r} is no line of dumpi2ascii")
        elif field := _FIELD.fullmatch(text):
            fields[field[1]] = field[2]
    if name:
        raise FileError(f"{where}: MPI_{name.capitalize()} never returns; is the file cut off?")
