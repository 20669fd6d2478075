"""Calibration for parcast: parameters of any solver from measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parcast import hookimpl

if TYPE_CHECKING:
    import typer

    from parcast_fit.calibration import fit

__all__ = ["fit", "parcast_commands"]


def __getattr__(name: str) -> Any:
    """Import ``fit``, and with it scipy, when first asked for."""
    if name == "fit":
        from parcast_fit.calibration import fit

        return fit
    raise AttributeError(name)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast fit``."""
    from parcast_fit import commands

    app.command(name="fit")(commands.fit)
