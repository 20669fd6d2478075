"""The kinds of topologies: each a function from a description and ports to a fabric."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parcast.model import Fabric, Ports
    from parcast_network.description import Description

_MODULES = {
    "star": "star:star",
    "bus": "star:bus",
    "fat-tree": "fat_tree:fat_tree",
    "torus": "torus:torus",
    "dragonfly": "dragonfly:dragonfly",
    "rails": "rails:rails",
    "graph": "graph:graph",
}


def make(kind: str) -> Callable[[Description, Ports], Fabric]:
    """Return the function that makes the fabric of a kind."""
    module, _, name = _MODULES[kind].partition(":")
    maker: Callable[[Description, Ports], Fabric] = getattr(
        import_module(f"{__name__}.{module}"), name
    )
    return maker
