"""Calibration for parcast: parameters of any solver from measurements, amounts as formulas of p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parcast import hookimpl

if TYPE_CHECKING:
    import typer

    from parcast_fit.amounts import scaling
    from parcast_fit.calibration import fit

__all__ = ["fit", "parcast_commands", "scaling"]


def __getattr__(name: str) -> Any:
    """Import ``fit`` or ``scaling``, and with them scipy, when first asked for."""
    if name == "fit":
        from parcast_fit.calibration import fit

        return fit
    if name == "scaling":
        from parcast_fit.amounts import scaling

        return scaling
    raise AttributeError(name)


@hookimpl
def parcast_commands(app: typer.Typer) -> None:
    """Add ``parcast fit`` and ``parcast scaling``."""
    from parcast_fit import commands

    app.command(name="fit")(commands.fit)
    app.command(name="scaling")(commands.scaling)
