"""Writes a plot of results: the same results give the same file, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast import Results
from parcast_report import bars, curves, multiples, surfaces
from parcast_report.choosing import choose_each
from parcast_report.style import DRAWING, RC

_DRAW = {"surface": surfaces.draw, "curves": curves.draw, "bars": bars.draw}

#: What would differ from one run or one version of a library to the next.
_METADATA: Mapping[str, Mapping[str, Any]] = {
    ".svg": {"Date": None, "Creator": "parcast"},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": "parcast", "Producer": None},
}


def write(results: Results, path: Path) -> None:
    """Write the plots that show the results (see `choose_each`) in the format of the suffix.

    Raises
    ------
    ParcastError
        If there is nothing to draw, or more than one picture can show.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    pictures = choose_each(results)
    suffix = path.suffix.lower()
    with DRAWING, mpl.rc_context(RC):
        figure = Figure(layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06))
        if len(pictures) == 1:
            _DRAW[pictures[0].kind](figure, pictures[0])
        else:
            multiples.draw(figure, pictures)
        figure.savefig(
            path, format=suffix[1:], metadata=dict(_METADATA[suffix]), bbox_inches="tight"
        )
