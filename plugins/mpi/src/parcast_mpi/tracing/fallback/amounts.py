"""How many bytes a call of mpi4py moves: of buffers, of their specifications, and of objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mpi4py import MPI


def amount(spec: Any) -> int:
    """Return the bytes of what is given as a buffer: ``data``, or ``[data, ..., type]``.

    Between data and type there may be a count, counts, or counts and displacements; ``None`` and
    ``MPI.IN_PLACE`` are no bytes.
    """
    if spec is None or spec is MPI.IN_PLACE:
        return 0
    if not isinstance(spec, list | tuple):
        return int(MPI.buffer.frombuffer(spec, readonly=True).nbytes)
    data, *details = spec
    width = None
    if details and isinstance(details[-1], MPI.Datatype | str):
        last = details.pop()
        datatype = MPI.Datatype.fromcode(last) if isinstance(last, str) else last
        width = datatype.Get_size()
    if not details or details[0] is None:
        return amount(data)
    return _total(details[0]) * (width or memoryview(data).itemsize)


def _total(counts: Any) -> int:
    if not isinstance(counts, Sequence) and not hasattr(counts, "__len__"):
        return int(counts)
    first = counts[0] if len(counts) else 0
    whole: Any = first if hasattr(first, "__len__") else counts
    return int(sum(whole))


def pickled(value: Any) -> int:
    """Return the bytes of an object as mpi4py sends it."""
    return len(MPI.pickle.dumps(value))


def contribution(kind: str, sent: int, received: int, size: int, *, in_place: bool) -> int:
    """Return what one process contributes to a collective, as `records` counts it.

    Parameters
    ----------
    kind
        Of the collective, blocking or not.
    sent, received
        Bytes of its two buffers.
    size
        Processes.
    in_place
        There is one buffer only, ``received`` (of a scatter: ``sent``).
    """
    kind = kind.removeprefix("i").removesuffix("v")
    if kind == "scatter":
        return sent // size if in_place else received
    if kind in {"allgather", "gather"}:
        return received // size if in_place else sent
    whole = received if in_place else sent
    return whole // size if kind.startswith(("alltoall", "reduce_scatter")) else whole
