"""Calibration for parcast: parameters of any solver from measurements, amounts as formulas of p."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parcast import hookimpl

if TYPE_CHECKING:
    import typer

    from parcast_fit.amounts import scaling
    from parcast_fit.calibration import fit

__all__ = ["amounts_of", "fit", "parcast_commands", "scaling"]


def __getattr__(name: str) -> Any:
    """Import ``fit``, ``scaling`` or ``amounts_of``, and with them scipy, when first asked for."""
    if name == "amounts_of":
        from parcast_fit.runs import amounts_of

        return amounts_of
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
    from parcast_fit import commands, scaling_commands

    app.command(name="fit")(commands.fit)
    app.command(name="scaling")(scaling_commands.scaling)
