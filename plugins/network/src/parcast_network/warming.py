"""A small question that compiles the kernel, which ``parcast warm`` asks."""

from __future__ import annotations

from parcast_network.sharing.compiled import finish_times


def shares() -> None:
    """Let two flows share a link."""
    finish_times([1.0], [[0], [0]], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0])
