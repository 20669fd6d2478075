"""Collectives of a step as rings within a node and between nodes."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from parcast.errors import InvalidPointError
from parcast_training.steps.layout import divisors
from parcast_training.steps.segments import Group, Messages, Ring


@dataclass(frozen=True, slots=True)
class Members:
    """Ranks of a collective: ``near`` of them in a node, in each of ``far`` nodes."""

    purpose: str
    stride: int
    near: int
    far: int

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
        fits = [k for k in divisors(per_node) if k * stride <= per_node]
        raise InvalidPointError(
            f"{name} = {size}, {stride} ranks apart, lies unevenly on nodes of {per_node}; "
            f"nearest: {name} = {_near(size, fits, per_node // gcd(stride, per_node))}"
        )
    return Members(purpose, stride, near, size // near)


def _near(size: int, fits: list[int], step: int) -> str:
    candidates = sorted({*fits, max(step, size // step * step), -(-size // step) * step})
    below = [k for k in candidates if k < size][-1:]
    above = [k for k in candidates if k > size][:1]
    return " or ".join(map(str, below + above)) or "1"


def _ring(m: Members, *, near: bool, part: float, messages: Messages, rotating: bool) -> Ring:
    group = Group(m.stride, m.near) if near else Group(m.stride * m.near, m.far)
    hop = messages(group.stride, part)
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
    return tuple(rings)


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
