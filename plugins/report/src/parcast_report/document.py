"""A page of sections that other members write: tables, plots and sentences, in the same look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from parcast_report.content import Table
from parcast_report.page import markup, read, template
from parcast_report.svg import embedded

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@attrs.frozen
class Drawing:
    """A plot to be drawn, with what is to be seen for those who do not see it."""

    title: str
    description: str
    draw: Callable[[Figure], None] = attrs.field(repr=False)


@attrs.frozen
class Section:
    """A heading with what stands below it, in this order."""

    title: str
    sentences: Sequence[str] = ()
    tables: Sequence[Table] = ()
    drawings: Sequence[Drawing] = ()
    hidden: Sequence[Table] = ()  #: tables that readers open


def document(title: str, kind: str, sentences: Sequence[str], sections: Sequence[Section]) -> str:
    """Return a page of HTML that needs nothing else; ``kind`` stands above its title."""
    rendered: str = template("document.html.jinja").render(
        title=title,
        kind=kind,
        sentences=sentences,
        sections=[_rendered(f"s{number}", section) for number, section in enumerate(sections)],
        style=markup(read("style.css")),
    )
    return rendered


def _rendered(key: str, section: Section) -> dict[str, Any]:
    pictures = [
        (drawing.title, markup(embedded(drawing.draw, f"{key}d{number}", drawing.description)))
        for number, drawing in enumerate(section.drawings)
    ]
    return {**attrs.asdict(section, recurse=False), "pictures": pictures}
