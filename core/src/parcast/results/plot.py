"""A plot of results by one call, as a notebook shows it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from parcast.errors import PluginError
from parcast.plugins.entries import load


@attrs.frozen
class Plot:
    """A picture; notebooks show it."""

    svg: str = attrs.field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


def plot(results: Any) -> Plot:
    """Return the picture that ``-o NAME.svg`` writes, by the registry that gave the results.

    Raises
    ------
    PluginError
        If no plugin of it draws.
    ParcastError
        If there is nothing to draw, or more than one picture can show.
    """
    if not results.writers:
        raise PluginError(
            "these results come from no registry; ask one, or let it draw them: "
            "Registry().write(results, 'plot.svg')"
        )
    if ".svg" not in results.writers:
        raise PluginError("no plugin draws plots; install one: pip install parcast-report")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plot.svg"
        load(results.writers[".svg"].target)(results, path)
        return Plot(path.read_text(encoding="utf-8"))
