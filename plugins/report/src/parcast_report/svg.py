"""A figure as part of a page: its colors are the page's, its text is text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from parcast_report.style import DRAWING, FAINT, INK, RC, SERIES

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

#: Which variable of the style sheet stands for which color.
VARIABLES = {
    INK: "ink",
    FAINT: "faint",
    "#ffffff": "paper",
    "#999999": "gray",
    **{color: f"series-{index}" for index, color in enumerate(SERIES)},
}
_NAMES = {color.lower(): name for color, name in VARIABLES.items()}

_SVG, _XLINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"

#: Starts the id of an artist that says something where a reader points at it.
_NOTE = "note "

#: Families of nearly the same widths, so that labels fit wherever the page is read.
_FONTS = ["DejaVu Sans", "Verdana", "sans-serif"]


def point_out(artist: Artist, note: str) -> None:
    """Have a page say this where a reader points at an artist."""
    artist.set_gid(_NOTE + note)


def embedded(draw: Callable[[Figure], None], key: str, description: str) -> str:
    """Return the SVG of a figure for a page of HTML.

    Parameters
    ----------
    draw
        Draws on an empty figure and sets its size.
    key
        A word that no other figure of the page has; ids start with it.
    description
        What is to be seen, for those who do not see it.
    """
    import logging
    import warnings

    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: Any = RC | {"svg.fonttype": "none", "font.family": _FONTS, "figure.dpi": 72}
    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    with DRAWING, mpl.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*missing from font")  # the reader's may have it
        logger.setLevel(logging.ERROR)  # of the families one is enough
        try:
            figure = Figure(layout="constrained")
            draw(figure)
            file = io.StringIO()
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            logger.setLevel(level)
    return _for_page(file.getvalue(), key, description)


def _for_page(text: str, key: str, description: str) -> str:
    from xml.etree import ElementTree as ET

    ET.register_namespace("", _SVG)
    root = ET.fromstring(text)  # noqa: S314  (matplotlib wrote it a moment ago)
    for child in [element for element in root if element.tag == f"{{{_SVG}}}metadata"]:
        root.remove(child)
    used = set(re.findall(r"#([\w.-]+)", " ".join(_references(root))))
    for element in list(root.iter()):
        _adapt(element, key, used)
    for name in ("width", "height"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": description}
    return ET.tostring(root, encoding="unicode")


def _references(root: Any) -> list[str]:
    return [value for element in root.iter() for value in element.attrib.values() if "#" in value]


def _adapt(element: Any, key: str, used: set[str]) -> None:
    """Rename ids and colors of one element; ids that nothing refers to go, notes are titles."""
    attributes = element.attrib
    identifier = attributes.pop("id", "")
    if identifier in used:
        attributes["id"] = f"{key}-{identifier}"
    elif identifier.startswith(_NOTE):
        title = element.makeelement(f"{{{_SVG}}}title", {})
        title.text = identifier.removeprefix(_NOTE)
        element.insert(0, title)
    if (href := attributes.pop(_XLINK, None)) is not None:
        attributes["href"] = f"#{key}-{href.removeprefix('#')}"
    if "clip-path" in attributes:
        attributes["clip-path"] = attributes["clip-path"].replace("#", f"#{key}-")
    if "style" in attributes:
        attributes["style"] = re.sub(r"#[0-9a-fA-F]{6}\b", _variable, attributes["style"])


def _variable(match: re.Match[str]) -> str:
    name = _NAMES.get(match[0].lower())
    return f"var(--{name})" if name else match[0]
