"""The operations of the language: their arguments, in the order and with the defaults of calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from parcast.model.accelerator import PRECISIONS, WORKS

#: What an argument must be: a rank of the program, a number of bytes (or operations, or
#: seconds), a whole number from 0, any whole number or none, or something written out: a
#: ``choice`` is one of a few words.
Takes = Literal["rank", "amount", "whole", "color", "request", "name", "file", "flag", "choice"]

#: The source of a receive that takes a message of any sender.
ANY = -1

#: The default of an argument that must be given.
REQUIRED = object()


@attrs.frozen
class Argument:
    """One argument of an operation."""

    name: str
    takes: Takes
    default: object = REQUIRED
    choices: tuple[str, ...] = ()  #: of ``choice``


def _signature(*arguments: Argument) -> tuple[Argument, ...]:
    return arguments


_DST = Argument("dst", "rank")
_SRC = Argument("src", "rank")
_BYTES = Argument("bytes", "amount")
_TAG = Argument("tag", "whole", 0)
_ROOT = Argument("root", "whole", 0)
_COLOR = Argument("color", "color", None)
_ROOTED = _signature(_BYTES, _ROOT, _COLOR)
_ROOTLESS = _signature(_BYTES, _COLOR)
_ACCESS = _signature(
    _BYTES, Argument("file", "file", "own"), Argument("collective", "flag", default=False)
)

#: Every operation by name.
OPERATIONS: Mapping[str, tuple[Argument, ...]] = {
    "compute": _signature(
        Argument("flops", "amount"),
        Argument("bytes", "amount", 0),
        Argument("on", "choice", "cpu", ("cpu", "gpu")),
        Argument("precision", "choice", "fp64", PRECISIONS),
        Argument("kind", "choice", "gemm", WORKS),
    ),
    "elapse": _signature(Argument("seconds", "amount")),
    "send": _signature(_DST, _BYTES, _TAG),
    "recv": _signature(_SRC, _TAG),
    "isend": _signature(_DST, _BYTES, _TAG),
    "irecv": _signature(_SRC, _TAG),
    "wait": _signature(Argument("request", "request")),
    "waitall": _signature(),
    "sendrecv": _signature(_DST, _BYTES, _SRC, _TAG),
    "barrier": _signature(_COLOR),
    "bcast": _ROOTED,
    "reduce": _ROOTED,
    "gather": _ROOTED,
    "scatter": _ROOTED,
    "allreduce": _ROOTLESS,
    "allgather": _ROOTLESS,
    "alltoall": _ROOTLESS,
    "reduce_scatter": _ROOTLESS,
    "scan": _ROOTLESS,
    "gatherv": _ROOTED,
    "scatterv": _ROOTED,
    "allgatherv": _ROOTLESS,
    "alltoallv": _ROOTLESS,
    "read": _ACCESS,
    "write": _ACCESS,
    "region": _signature(Argument("name", "name")),
    "start": _signature(),
}

#: Collectives whose bytes may differ from process to process.
VECTOR_COLLECTIVES = frozenset({"gatherv", "scatterv", "allgatherv", "alltoallv"})

#: Operations that many processes do together, expanded into messages between two.
COLLECTIVES = VECTOR_COLLECTIVES | {
    *("barrier", "bcast", "reduce", "gather", "scatter"),
    *("allreduce", "allgather", "alltoall", "reduce_scatter", "scan"),
}

#: Operations that send a message, and those that receive one.
SENDS = frozenset({"send", "isend", "sendrecv"})
RECEIVES = frozenset({"recv", "irecv", "sendrecv"})

#: Operations that a task of a pool may have: those that meet no other process, and messages to
#: processes that take them from anybody.
IN_TASKS = frozenset({"compute", "elapse", "read", "write", "region", "send"})

#: What of a computation says how an accelerator does it; on a processor it says nothing.
OFFLOADED = ("on", "precision", "kind")

#: Operations that give a request, to be waited for once.
REQUESTS = frozenset({"isend", "irecv"})
