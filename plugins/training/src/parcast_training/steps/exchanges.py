"""Collectives of a step as rings within a node and between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd

from parcast.errors import InvalidPointError
from parcast_training.steps.job import Job
from parcast_training.steps.layout import Layout
from parcast_training.steps.segments import Group, Messages, Ring


@dataclass(frozen=True, slots=True)
class Members:
    """Ranks of a collective: ``near`` of them in a node, in each of ``far`` nodes."""

    purpose: str
    stride: int
    near: int
    far: int
    then: Members | None = None  #: among whom each one's part goes on
    start: int = 0  #: a first rank of them

    @property
    def size(self) -> int:
        """How many they are."""
        return self.near * self.far


def members(purpose: str, name: str, stride: int, size: int, per_node: int) -> Members:
    """Return how a group of ranks, ``stride`` apart, lies on nodes.

    Raises
    ------
    InvalidPointError
        If it has unlike numbers of ranks on different nodes.
    """
    if stride * size <= per_node and per_node % (stride * size) == 0:
        return Members(purpose, stride, size, 1)
    if stride % per_node == 0 or size == 1:
        return Members(purpose, stride, 1, size)
    near = per_node // gcd(per_node, stride) if per_node % stride else per_node // stride
    if per_node % stride or size % near:
        raise InvalidPointError(
            f"{name} = {size}, {stride} ranks apart, lies unevenly on nodes of {per_node}"
        )
    return Members(purpose, stride, near, size // near)


def members_of(job: Job, layout: Layout, per_node: int) -> Mapping[str, Members]:
    """Return the groups of a step by name.

    Raises
    ------
    InvalidPointError
        If one lies unevenly on nodes.
    """
    tp, cp, dp, ep = layout.tp, layout.cp, layout.dp, job.ep
    groups = {
        "tensor": ("tensor parallel", "tp", 1, tp),
        "context": ("context parallel", "cp", tp, cp),
        "expert": ("expert parallel", "ep", tp * cp, ep),
        "data": ("gradients", "dp", tp, cp * dp),  # ranks with the same weights
    }
    if job.experts > 1:  # ranks with the same experts
        groups["replicas"] = ("gradients", "dp / ep", tp * cp * ep, dp // ep)
    of_name = {name: members(*group, per_node) for name, group in groups.items()}
    if cp > 1 and "replicas" in of_name:
        context = replace(of_name["context"], purpose="gradients")
        of_name["replicas"] = replace(context, then=of_name["replicas"])
    return of_name


def mirror_of(layout: Layout, stage: int) -> Members | None:
    """Return the ranks with the same pieces as a stage's at the other end, if there are any."""
    if not layout.bidirectional:
        return None
    ranks, near = layout.stage_ranks, layout.near(stage)
    stride = (layout.pp - 1 - 2 * near) * ranks
    return Members("gradients", stride, 1, 2, start=near * ranks)


def followed(m: Members, last: Members | None) -> Members:
    """Return the same ranks, each one's part going on among ``last`` behind all others."""
    return m if last is None else replace(m, then=followed(m.then, last) if m.then else last)


def for_parameters(m: Members) -> Members:
    """Return the same ranks, as they gather weights."""
    return replace(m, purpose="parameters", then=m.then and for_parameters(m.then))


def _ring(m: Members, *, near: bool, part: float, messages: Messages, rotating: bool) -> Ring:
    stride, size = (m.stride, m.near) if near else (m.stride * m.near, m.far)
    group = Group(stride, size, m.start)
    hop = messages(group, part)
    return Ring(m.purpose, group, group.size - 1, part, hop, rotating and group.size > 2)


def scattered(m: Members, size: float, messages: Messages) -> tuple[Ring, ...]:
    """Return a reduce-scatter or an all-gather: ``size`` bytes whole, an equal part on each rank.

    Within the nodes of ``near`` ranks, and of each one's part between ``far`` nodes.
    """
    rings = []
    if m.near > 1:
        rings.append(_ring(m, near=True, part=size / m.near, messages=messages, rotating=False))
    if m.far > 1:
        part = size / m.near / m.far
        rings.append(_ring(m, near=False, part=part, messages=messages, rotating=False))
    further = () if m.then is None else scattered(m.then, size / m.near / m.far, messages)
    return (*rings, *further)


def summed(m: Members, size: float, messages: Messages) -> tuple[Ring, ...]:
    """Return an all-reduce of ``size`` bytes: a reduce-scatter and an all-gather."""
    half = scattered(m, size, messages)
    return (*half, *reversed(half))


def dealt(m: Members, size: float, messages: Messages) -> tuple[Ring, ...]:
    """Return an all-to-all of ``size`` bytes on each rank, within nodes and between them."""
    rings = []
    if m.near > 1:
        rings.append(_ring(m, near=True, part=size / m.near, messages=messages, rotating=True))
    if m.far > 1:
        rings.append(_ring(m, near=False, part=size / m.far, messages=messages, rotating=True))
    return tuple(rings)
