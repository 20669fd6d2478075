"""Communicators of mpi4py whose calls are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpi4py import MPI

from parcast_mpi.tracing.fallback.amounts import amount, contribution, pickled
from parcast_mpi.tracing.fallback.recorder import Recorder, now
from parcast_mpi.tracing.fallback.requests import Prequest, Request, RequestOrigin, received
from parcast_traces.tracer.records import NONE

ANY = MPI.ANY_SOURCE, MPI.ANY_TAG


class RecordedComm:
    """What all recorded communicators have in common; the classes below are also mpi4py's own."""

    recorder: Recorder
    begun = 0  #: communicators whose first member this rank is

    number: int
    members: Sequence[int]

    def world_rank(self, rank: int) -> int:
        """Return the rank among all ranks."""
        return self.members[rank] if rank >= 0 else NONE

    def original(self, name: str) -> Callable[..., Any]:
        """Return mpi4py's own method."""
        method: Callable[..., Any] = getattr(super(), name)
        return method

    def log(self, name: str, start: int, **fields: int) -> None:
        """Record a call among these ranks."""
        self.recorder.record(name, start, comm=self.number, **fields)

    def opened(self, original: Any, members: Sequence[int] | None = None) -> tuple[Request, int]:
        """Return a request that will be recorded, and its number."""
        request = Request(original)
        request.origin = RequestOrigin(self.recorder.new_request(), self.number, members)
        return request, request.origin.number

    def Sendrecv(  # noqa: N802  (as in mpi4py)
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = ANY[0], recvtag: int = ANY[1], status: Any = None,
    ) -> None:  # fmt: skip
        """Send and receive buffers."""
        arguments = (sendbuf, dest, sendtag, recvbuf, source, recvtag)
        self._exchange("Sendrecv", arguments, dest, sendtag, amount(sendbuf), status)

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = ANY[0], recvtag: int = ANY[1], status: Any = None,
    ) -> Any:  # fmt: skip
        """Send and receive objects."""
        arguments = (sendobj, dest, sendtag, recvbuf, source, recvtag)
        return self._exchange("sendrecv", arguments, dest, sendtag, pickled(sendobj), status)

    def Sendrecv_replace(  # noqa: N802
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY[0],
        recvtag: int = ANY[1], status: Any = None,
    ) -> None:  # fmt: skip
        """Send a buffer and receive into it."""
        arguments = (buf, dest, sendtag, source, recvtag)
        self._exchange("Sendrecv_replace", arguments, dest, sendtag, amount(buf), status)

    def _exchange(
        self, name: str, arguments: Sequence[Any], dest: int, tag: int, sent: int, status: Any
    ) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        result = self.original(name)(*arguments, status)
        got = received(status, self.members)
        self.log(
            "sendrecv", start, peer=self.world_rank(dest), tag=tag, amount=sent,
            source=got.get("peer", NONE), source_tag=got.get("tag", 0),
            received=got.get("amount", 0),
        )  # fmt: skip
        return result


def _sending(name: str) -> Any:
    """Return a send; as in mpi4py, its message is ``obj`` or ``buf``."""
    measured = pickled if name.islower() else amount
    posts = name.lower().startswith("i")

    def send(self: RecordedComm, message: Any, dest: int, tag: int) -> Any:
        sent = {"peer": self.world_rank(dest), "tag": tag, "amount": measured(message)}
        start = now()
        result = self.original(name)(message, dest, tag)
        if not posts:
            return self.log(name.lower(), start, **sent)
        request, number = self.opened(result)
        self.log(name.lower(), start, request=number, **sent)
        return request

    if name.islower():
        return lambda self, obj, dest, tag=0: send(self, obj, dest, tag)
    return lambda self, buf, dest, tag=0: send(self, buf, dest, tag)


def _receiving(name: str) -> Any:
    def method(
        self: RecordedComm, buf: Any = None, source: int = ANY[0], tag: int = ANY[1],
        status: Any = None,
    ) -> Any:  # fmt: skip
        status = MPI.Status() if status is None else status
        start = now()
        result = self.original(name)(buf, source, tag, status)
        self.log("recv", start, **received(status, self.members))
        return result

    return method


def _posting(name: str) -> Any:
    def method(self: RecordedComm, buf: Any = None, source: int = ANY[0], tag: int = ANY[1]) -> Any:
        start = now()
        request, number = self.opened(self.original(name)(buf, source, tag), self.members)
        peer = source if source == MPI.ANY_SOURCE else self.world_rank(source)
        self.log("irecv", start, peer=peer, tag=tag, request=number)
        return request

    return method


def _persistent(name: str, kind: str) -> Any:
    """Return a method that makes a persistent request."""
    receives = kind == "irecv"

    def post(self: RecordedComm, buf: Any, peer: int, tag: int) -> Prequest:
        request = Prequest(self.original(name)(buf, peer, tag))
        size = 0 if receives else amount(buf)

        def begin(start: int) -> None:
            members = self.members if receives else None
            request.origin = RequestOrigin(self.recorder.new_request(), self.number, members)
            world = peer if peer == MPI.ANY_SOURCE else self.world_rank(peer)
            number = request.origin.number
            self.log(kind, start, peer=world, tag=tag, amount=size, request=number)

        request.begin = begin
        return request

    if receives:
        return lambda self, buf, source=ANY[0], tag=ANY[1]: post(self, buf, source, tag)
    return lambda self, buf, dest, tag=0: post(self, buf, dest, tag)


def _probing(name: str) -> Any:
    looks = name.lower() == "iprobe"

    def method(
        self: RecordedComm, source: int = ANY[0], tag: int = ANY[1], status: Any = None
    ) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        result = self.original(name)(source, tag, status)
        if result or not looks:
            self.log(name.lower(), start, **received(status, self.members))
        return result

    return method


def _collective(name: str) -> Any:
    """Return a collective, whose root, if it has one, is its last argument."""
    kind, objects = name.lower(), name.islower()
    plain = kind.removeprefix("i")

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        values = [*arguments, *(keywords[word] for word in _IN_ORDER if word in keywords)]
        size = 0 if objects else _buffer_contribution(plain, values, self.size)
        root = keywords.get("root", _root(arguments)) if plain in _ROOTED else NONE
        start = now()
        result = self.original(name)(*arguments, **keywords)
        end = now()
        if objects and plain != "barrier":  # what is received tells its size on every rank
            size = pickled(result if plain in {"bcast", "scatter"} else values[0])
            size //= self.size if plain == "alltoall" else 1
        fields = {"peer": self.world_rank(root), "amount": size, "end": end}
        if not kind.startswith("i"):
            self.log(kind, start, **fields)
            return result
        request, number = self.opened(result)
        self.log(kind, start, request=number, **fields)
        return request

    return method


#: mpi4py's names of what is sent and received, in the order of its parameters.
_IN_ORDER = ("sendobj", "obj", "sendbuf", "buf", "recvbuf")

_ROOTED = frozenset({"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"})


def _root(arguments: Sequence[Any]) -> int:
    roots = [value for value in arguments[1:] if isinstance(value, int)]
    return roots[-1] if roots else 0


def _buffer_contribution(plain: str, buffers: Sequence[Any], size: int) -> int:
    """Return the bytes of a collective's buffers, as a record counts them."""
    if plain == "barrier":
        return 0
    if plain == "bcast":
        return amount(buffers[0])
    sent, target = buffers[:2]
    alone = (target if plain.startswith("scatter") else sent) is MPI.IN_PLACE
    return contribution(plain, amount(sent), amount(target), size, in_place=alone)


def _maker(name: str, kind: str) -> Any:
    """Return a method that makes a communicator."""

    def method(self: RecordedComm, *arguments: Any, **keywords: Any) -> Any:
        start = now()
        result = self.original(name)(*arguments, **keywords)
        self.log(kind, start)
        return record_communicator(result)

    return method


def _methods() -> dict[str, Any]:
    """Return all methods that are made after a pattern."""
    methods = {name: _sending(name) for name in ("Send", "Bsend", "Ssend", "Rsend")}
    methods |= {name: _sending(name) for name in ("Isend", "Ibsend", "Issend", "Irsend")}
    methods |= {name: _sending(name) for name in ("send", "bsend", "ssend")}
    methods |= {name: _sending(name) for name in ("isend", "ibsend", "issend")}
    methods |= {name: _receiving(name) for name in ("Recv", "recv")}
    methods |= {name: _posting(name) for name in ("Irecv", "irecv")}
    methods |= {name: _probing(name) for name in ("Probe", "probe", "Iprobe", "iprobe")}
    methods["Recv_init"] = _persistent("Recv_init", "irecv")
    for kind in ("send", "bsend", "ssend", "rsend"):
        methods[f"{kind.title()}_init"] = _persistent(f"{kind.title()}_init", f"i{kind}")
    for word in _COLLECTIVES:
        for name in (word, f"I{word.lower()}", word.lower()):
            methods[name] = _collective(name)
    methods |= {name: _maker(name, kind) for name, kind in _MAKERS.items()}
    return {name: method for name, method in methods.items() if hasattr(MPI.Intracomm, name)}


_COLLECTIVES = (
    "Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan", "Gather", "Gatherv", "Scatter",
    "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw",
    "Reduce_scatter", "Reduce_scatter_block",
)  # fmt: skip
_MAKERS = {
    "Dup": "comm_dup", "Clone": "comm_dup", "Dup_with_info": "comm_dup", "Split": "comm_split",
    "Split_type": "comm_split", "Create": "comm_create", "Create_cart": "comm_create",
    "Create_graph": "comm_create", "Create_dist_graph": "comm_create",
    "Create_dist_graph_adjacent": "comm_create", "Sub": "comm_split", "Create_group": "call",
}  # fmt: skip

#: mpi4py's classes and those whose calls are recorded; a topology has more that makes others.
_CLASSES = {
    base: type(base.__name__, (RecordedComm, base), {})
    for base in (MPI.Intracomm, MPI.Cartcomm, MPI.Graphcomm, MPI.Distgraphcomm)
}

for _name, _method in _methods().items():
    setattr(RecordedComm, _name, _method)
setattr(_CLASSES[MPI.Cartcomm], "Sub", _maker("Sub", "comm_split"))  # noqa: B010


def record_world(world: Any) -> Any:
    """Return all ranks as a communicator whose calls are recorded."""
    comm = _CLASSES[MPI.Intracomm](world)
    comm.number, comm.members = 0, range(world.size)
    return comm


def record_communicator(comm: Any) -> Any:
    """Return a communicator whose calls are recorded; one that is none, or between groups, as is.

    Its number comes from its first member, whose rank and count of such communicators it holds.
    """
    base = next((kind for kind in _CLASSES if type(comm) in {kind, _CLASSES[kind]}), None)
    if base is None or comm == MPI.COMM_NULL:
        return comm
    world, whole = MPI.Intracomm(MPI.COMM_WORLD), base(comm)
    mine, everyone = whole.Get_group(), world.Get_group()
    recorded = _CLASSES[base](comm)
    recorded.members = MPI.Group.Translate_ranks(mine, list(range(whole.size)), everyone)
    number = None
    if whole.rank == 0:
        number = 1 + world.rank + world.size * RecordedComm.begun
        RecordedComm.begun += 1
        RecordedComm.recorder.list_members(number, recorded.members)
    recorded.number = whole.bcast(number)
    return recorded
