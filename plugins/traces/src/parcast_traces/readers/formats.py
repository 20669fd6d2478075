"""The formats of traces: what a file of each begins with, and what its name ends with."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

#: How much of a file is looked through for a format's mark.
BEGINNING = 1 << 16

#: Of whole files in memory, and of files that are read in parts.
_MOST_WHOLE, _MOST_PARTS = 512 << 20, 16 << 30


@attrs.frozen
class Format:
    """A format of traces."""

    name: str
    target: str  #: the reader, as ``module:function`` of a path
    suffixes: tuple[str, ...] = ()  #: a hint, where no mark is found
    mark: bytes = attrs.field(default=b"", kw_only=True)  #: a regular expression
    several: bool = attrs.field(default=False, kw_only=True)  #: its reader takes several files
    ranks_inside: bool = attrs.field(default=False, kw_only=True)
    """Its files say their ranks, so that names count only where they do beyond doubt."""
    alike: bool = attrs.field(default=False, kw_only=True)  #: one rank may stand for others
    untimed: bool = attrs.field(
        default=False, kw_only=True
    )  #: beside another format it is left out
    most: int = attrs.field(default=_MOST_PARTS, kw_only=True)  #: bytes of a file, unpacked
    work: bool = attrs.field(default=False, kw_only=True)  #: it says work, and never times
    event: re.Pattern[bytes] | None = attrs.field(default=None, kw_only=True)
    """What begins each line that is an event, so that they are counted as a file is unpacked."""
    held: int = attrs.field(default=0, kw_only=True)
    """Bytes of memory for each byte of files that are one document; 0 where parts are read."""

    def begins(self, beginning: bytes) -> bool:
        """Tell whether a file that begins so is of this format."""
        return bool(self.mark) and re.search(self.mark, beginning, re.DOTALL) is not None


_READERS = "parcast_traces.readers"
_BLANK = rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*"
_ACTIONS = rb"(?:init|finalize|compute|sleep|i?s?send|i?recv|bcast|reduce|all\w+|barrier|comm_\w+)"
#: The files of all ranks, one a line.
_INDEX = rb"\A(?:[\w./-]+\.(?:txt|tit|trace)\r?\n)*[\w./-]+\.(?:txt|tit|trace)\s*\Z"

#: The beginning of each line of SimGrid's that is an event.
ACTION = re.compile(rb"^[ \t]*\d+[ \t]+(?!(?:compute|location)\b)", re.MULTILINE | re.IGNORECASE)

#: The most telling marks come first.
FORMATS: tuple[Format, ...] = (
    Format("columns of parcast", f"{_READERS}.columnar:read", (".trace",),
           mark=rb"\Aparcast trace 1\n"),
    Format("parcast mpi trace", f"{_READERS}.tracer:read", mark=rb"\APARCAST1"),
    Format("OTF2", f"{_READERS}.otf2:read", (".otf2",), mark=rb"\A.BOTF2"),
    Format("Paraver", f"{_READERS}.paraver:read", (".prv",), mark=rb"\A#Paraver"),
    Format("GOAL", f"{_READERS}.goal:read", (".goal",), work=True,
           mark=rb"(?:\A|\n)[ \t]*num_ranks\s+\d|\A\x7f\x10\0\0\0\0\0\0"),
    Format("DUMPI", f"{_READERS}.dumpi:read", several=True,
           mark=rb" entering at walltime |\A\xff\xaa\xddDUMPI"),
    Format("liballprof", f"{_READERS}.allprof:read", mark=rb"(?:\A|\n)MPI_Init:", several=True,
           alike=True),
    Format("time-independent (SimGrid)", f"{_READERS}.time_independent:read", (".tit", ".txt"),
           several=True, work=True, event=ACTION,
           mark=rb"\A" + _BLANK + rb"[ \t]*\d+[ \t]+" + _ACTIONS + rb"\b|" + _INDEX),
    Format("Chakra", f"{_READERS}.chakra:read", (".et",), several=True, most=_MOST_WHOLE, held=5,
           mark=rb'\A\s*\{.*(?:"type"\s*:\s*"\w+_NODE"|"workload_graph"\s*:)'
                rb"|\A.{1,2}(?:\x0a[\x03-\x10]\d+\.[\d.]+|[\x10\x12].\x0a\x06schema)"),
    Format("execution graph of PyTorch", f"{_READERS}.pytorch_graph:read", several=True,
           untimed=True, most=_MOST_WHOLE, mark=rb'\A\s*\{\s*"schema"\s*:\s*"\d'),
    Format("profiler of PyTorch (Kineto)", f"{_READERS}.kineto:read", several=True,
           ranks_inside=True, alike=True,
           mark=rb'\A\s*\{.*"(?:traceEvents|distributedInfo|deviceProperties)"\s*:'
                rb'|\A\s*\[\s*\{(?:[^{}]|\{[^{}]*\})*"ph"\s*:'),
    Format("neutral JSON", f"{_READERS}.neutral:read", (".json",), most=_MOST_WHOLE, held=5,
           mark=rb'\A\s*\{.*"(?:t_start|ranks)"\s*:'),
)  # fmt: skip


def recognized(beginning: bytes, suffix: str | None, formats: Sequence[Format]) -> Format | None:
    """Return the format of a file: by what it begins with, else by its suffix."""
    by_mark = (entry for entry in formats if entry.begins(beginning))
    by_suffix = (entry for entry in formats if suffix in entry.suffixes)
    return next(by_mark, next(by_suffix, None))
