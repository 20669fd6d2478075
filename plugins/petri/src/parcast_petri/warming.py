"""What compiles the kernel for ``parcast warm``."""

from __future__ import annotations

from parcast_petri.compilation import GAME


def game() -> None:
    """Compile the token game, whose types are known beforehand."""
    GAME.form(1)
