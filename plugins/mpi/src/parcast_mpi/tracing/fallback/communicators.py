"""Communicators of mpi4py whose calls are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpi4py import MPI

from parcast_mpi.tracing.fallback.amounts import amount, own, pickled
from parcast_mpi.tracing.fallback.recorder import Recorder, now
from parcast_mpi.tracing.fallback.requests import Prequest, Request, Told, received
from parcast_traces.tracer.records import NONE

ANY = MPI.ANY_SOURCE, MPI.ANY_TAG


class Traced:
    """What all recorded communicators have in common; the classes below are also mpi4py's own."""

    recorder: Recorder
    begun = 0  #: communicators whose first member this rank is

    number: int
    members: Sequence[int]

    def world_rank(self, rank: int) -> int:
        """Return the rank among all ranks."""
        return self.members[rank] if rank >= 0 else NONE

    def own(self, name: str) -> Callable[..., Any]:
        """Return mpi4py's own method."""
        found: Callable[..., Any] = getattr(super(), name)
        return found

    def log(self, name: str, start: int, **fields: int) -> None:
        """Record a call among these ranks."""
        self.recorder.record(name, start, comm=self.number, **fields)

    def opened(self, made: Any, members: Sequence[int] | None = None) -> tuple[Request, int]:
        """Return a request that will be recorded, and its number."""
        request = Request(made)
        request.told = Told(self.recorder.new_request(), self.number, members)
        return request, request.told.number

    def Sendrecv(  # noqa: N802  (as in mpi4py)
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = ANY[0], recvtag: int = ANY[1], status: Any = None,
    ) -> None:  # fmt: skip
        """Send and receive buffers."""
        given = (sendbuf, dest, sendtag, recvbuf, source, recvtag)
        self._exchange("Sendrecv", given, dest, sendtag, amount(sendbuf), status)

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None,
        source: int = ANY[0], recvtag: int = ANY[1], status: Any = None,
    ) -> Any:  # fmt: skip
        """Send and receive objects."""
        given = (sendobj, dest, sendtag, recvbuf, source, recvtag)
        return self._exchange("sendrecv", given, dest, sendtag, pickled(sendobj), status)

    def Sendrecv_replace(  # noqa: N802
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY[0],
        recvtag: int = ANY[1], status: Any = None,
    ) -> None:  # fmt: skip
        """Send a buffer and receive into it."""
        given = (buf, dest, sendtag, source, recvtag)
        self._exchange("Sendrecv_replace", given, dest, sendtag, amount(buf), status)

    def _exchange(
        self, name: str, given: Sequence[Any], dest: int, tag: int, sent: int, status: Any
    ) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        found = self.own(name)(*given, status)
        got = received(status, self.members)
        self.log(
            "sendrecv", start, peer=self.world_rank(dest), tag=tag, amount=sent,
            source=got.get("peer", NONE), source_tag=got.get("tag", 0),
            received=got.get("amount", 0),
        )  # fmt: skip
        return found


def _sending(name: str) -> Any:
    measured = pickled if name.islower() else amount
    posts = name.lower().startswith("i")

    def method(self: Traced, what: Any, dest: int, tag: int = 0) -> Any:
        sent = {"peer": self.world_rank(dest), "tag": tag, "amount": measured(what)}
        start = now()
        found = self.own(name)(what, dest, tag)
        if not posts:
            return self.log(name.lower(), start, **sent)
        request, number = self.opened(found)
        self.log(name.lower(), start, request=number, **sent)
        return request

    return method


def _receiving(name: str) -> Any:
    def method(
        self: Traced, buf: Any = None, source: int = ANY[0], tag: int = ANY[1], status: Any = None
    ) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        found = self.own(name)(buf, source, tag, status)
        self.log("recv", start, **received(status, self.members))
        return found

    return method


def _posting(name: str) -> Any:
    def method(self: Traced, buf: Any = None, source: int = ANY[0], tag: int = ANY[1]) -> Any:
        start = now()
        request, number = self.opened(self.own(name)(buf, source, tag), self.members)
        peer = source if source == MPI.ANY_SOURCE else self.world_rank(source)
        self.log("irecv", start, peer=peer, tag=tag, request=number)
        return request

    return method


def _lasting(name: str, kind: str) -> Any:
    """Return a method that makes a persistent request."""

    def method(self: Traced, buf: Any, peer: int, tag: int = 0) -> Prequest:
        made = Prequest(self.own(name)(buf, peer, tag))
        receives = kind == "irecv"
        size = 0 if receives else amount(buf)

        def begin(start: int) -> None:
            members = self.members if receives else None
            made.told = Told(self.recorder.new_request(), self.number, members)
            world, number = self.world_rank(peer), made.told.number
            self.log(kind, start, peer=world, tag=tag, amount=size, request=number)

        made.begin = begin
        return made

    return method


def _probing(name: str) -> Any:
    looks = name.lower() == "iprobe"

    def method(self: Traced, source: int = ANY[0], tag: int = ANY[1], status: Any = None) -> Any:
        status = MPI.Status() if status is None else status
        start = now()
        found = self.own(name)(source, tag, status)
        if found or not looks:
            self.log(name.lower(), start, **received(status, self.members))
        return found

    return method


def _collective(name: str) -> Any:
    """Return a collective, whose root, if it has one, is its last argument."""
    kind, objects = name.lower(), name.islower()
    plain = kind.removeprefix("i")

    def method(self: Any, *given: Any, **named: Any) -> Any:
        values = [*given, *named.values()]
        size = 0 if objects else _contribution(plain, values, self.size)
        root = named.get("root", _root(given)) if plain in _ROOTED else NONE
        start = now()
        found = self.own(name)(*given, **named)
        end = now()
        if objects and plain != "barrier":  # what is received tells its size on every rank
            size = pickled(found if plain in {"bcast", "scatter"} else values[0])
            size //= self.size if plain == "alltoall" else 1
        fields = {"peer": self.world_rank(root), "amount": size, "end": end}
        if not kind.startswith("i"):
            self.log(kind, start, **fields)
            return found
        request, number = self.opened(found)
        self.log(kind, start, request=number, **fields)
        return request

    return method


_ROOTED = frozenset({"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"})


def _root(given: Sequence[Any]) -> int:
    roots = [one for one in given[1:] if isinstance(one, int)]
    return roots[-1] if roots else 0


def _contribution(plain: str, buffers: Sequence[Any], size: int) -> int:
    """Return the bytes of a collective's buffers, as a record counts them."""
    if plain == "barrier":
        return 0
    if plain == "bcast":
        return amount(buffers[0])
    sent, taken = buffers[:2]
    alone = (taken if plain.startswith("scatter") else sent) is MPI.IN_PLACE
    return own(plain, amount(sent), amount(taken), size, in_place=alone)


def _making(name: str, kind: str) -> Any:
    """Return a method that makes a communicator."""

    def method(self: Traced, *given: Any, **named: Any) -> Any:
        start = now()
        found = self.own(name)(*given, **named)
        self.log(kind, start)
        return traced(found)

    return method


def _methods() -> dict[str, Any]:
    """Return all methods that are made after a pattern."""
    made = {name: _sending(name) for name in ("Send", "Bsend", "Ssend", "Rsend")}
    made |= {name: _sending(name) for name in ("Isend", "Ibsend", "Issend", "Irsend")}
    made |= {name: _sending(name) for name in ("send", "bsend", "ssend")}
    made |= {name: _sending(name) for name in ("isend", "ibsend", "issend")}
    made |= {name: _receiving(name) for name in ("Recv", "recv")}
    made |= {name: _posting(name) for name in ("Irecv", "irecv")}
    made |= {name: _probing(name) for name in ("Probe", "probe", "Iprobe", "iprobe")}
    made["Recv_init"] = _lasting("Recv_init", "irecv")
    for kind in ("send", "bsend", "ssend", "rsend"):
        made[f"{kind.title()}_init"] = _lasting(f"{kind.title()}_init", f"i{kind}")
    for word in _COLLECTIVES:
        for name in (word, f"I{word.lower()}", word.lower()):
            made[name] = _collective(name)
    made |= {name: _making(name, kind) for name, kind in _MAKERS.items()}
    return {name: one for name, one in made.items() if hasattr(MPI.Intracomm, name)}


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
    base: type(base.__name__, (Traced, base), {})
    for base in (MPI.Intracomm, MPI.Cartcomm, MPI.Graphcomm, MPI.Distgraphcomm)
}

for _name, _method in _methods().items():
    setattr(Traced, _name, _method)
setattr(_CLASSES[MPI.Cartcomm], "Sub", _making("Sub", "comm_split"))  # noqa: B010


def traced_world(world: Any) -> Any:
    """Return all ranks as a communicator whose calls are recorded."""
    made = _CLASSES[MPI.Intracomm](world)
    made.number, made.members = 0, range(world.size)
    return made


def traced(comm: Any) -> Any:
    """Return a communicator whose calls are recorded; one that is none, or between groups, as is.

    Its number comes from its first member, whose rank and count of such communicators it holds.
    """
    base = next((one for one in _CLASSES if type(comm) in {one, _CLASSES[one]}), None)
    if base is None or comm == MPI.COMM_NULL:
        return comm
    world, whole = MPI.Intracomm(MPI.COMM_WORLD), base(comm)
    mine, everyone = whole.Get_group(), world.Get_group()
    made = _CLASSES[base](comm)
    made.members = MPI.Group.Translate_ranks(mine, list(range(whole.size)), everyone)
    number = None
    if whole.rank == 0:
        number = 1 + world.rank + world.size * Traced.begun
        Traced.begun += 1
        Traced.recorder.list_members(number, made.members)
    made.number = whole.bcast(number)
    return made
