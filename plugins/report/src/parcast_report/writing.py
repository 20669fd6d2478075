"""Writes a plot of results: the same results give the same file, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast import Results
from parcast_report import bars, curves, surfaces
from parcast_report.choosing import choose
from parcast_report.style import DRAWING, RC

_DRAW = {"surface": surfaces.draw, "curves": curves.draw, "bars": bars.draw}

#: What would differ from one run or one version of a library to the next.
_METADATA: Mapping[str, Mapping[str, Any]] = {
    ".svg": {"Date": None, "Creator": "parcast"},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": "parcast", "Producer": None},
}


def write(results: Results, path: Path) -> None:
    """Write the plot that shows the results (see `choose`) in the format of the suffix.

    Raises
    ------
    ParcastError
        If there is nothing to draw, or more than one picture can show.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    picture = choose(results)
    suffix = path.suffix.lower()
    with DRAWING, mpl.rc_context(RC):
        figure = Figure(layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06))
        _DRAW[picture.kind](figure, picture)
        figure.savefig(
            path, format=suffix[1:], metadata=dict(_METADATA[suffix]), bbox_inches="tight"
        )
