"""A report: one page of HTML that needs nothing else, on a screen, a phone or paper."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from parcast import Results
from parcast.files import write_text
from parcast.results import plain
from parcast_report import content
from parcast_report.choosing import visible
from parcast_report.content import Case, Remark, Table
from parcast_report.panels import Panel, panels
from parcast_report.svg import embedded

if TYPE_CHECKING:
    from jinja2 import Template

#: More workloads on machines than this are told in tables alone.
MOST_DRAWN = 12


@attrs.frozen
class Plot:
    """A plot as it stands on the page."""

    title: str
    picture: Any  #: markup
    table: Table


@attrs.frozen
class Section:
    """What the page says of one workload on one machine."""

    case: Case
    solvers: Table
    plots: list[Plot]
    missing: Sequence[str]  #: sentences about what is not drawn
    uncertain: Table | None
    answers: Table
    remarks: dict[str, list[Remark]]


def write(results: Results, path: Path) -> None:
    """Write the report of the results."""
    path.write_text(page(results), encoding="utf-8")


def write_interactive(results: Results, path: Path) -> None:
    """Write the report with plots that can be zoomed and asked for numbers.

    Raises
    ------
    ParcastError
        If plotly is not installed.
    """
    write_text(path, page(results, interactive=True))


def page(results: Results, *, interactive: bool = False) -> str:
    """Return the page; ``interactive`` needs plotly."""
    script = ""
    if interactive:
        from parcast_report.interactive import library

        script = library()
    cases = content.cases(results)
    sections = [_section(f"c{n}", case, n, interactive) for n, case in enumerate(cases)]
    title = cases[0].name if len(cases) == 1 else f"{len(cases)} comparisons"
    inputs = {
        f"{name} {data.get('name', '')}": json.dumps(data, indent=1, ensure_ascii=False)
        for name in ("workloads", "machines")
        for data in plain(results.provenance).get(name, [])
    }
    return template("page.html.jinja").render(
        title=title,
        machines=content.machines(results),
        best=results.best(),
        sections=sections,
        facts=content.facts(results),
        inputs=inputs,
        style=markup(read("style.css")),
        script=markup(script),
    )


def _section(key: str, case: Case, number: int, interactive: bool) -> Section:
    drawn: list[Panel] = []
    missing = [f"Plots are drawn of the first {MOST_DRAWN} comparisons."]
    if number < MOST_DRAWN:
        drawn, missing = panels(case.results)
    plots = [_plot(panel, f"{key}p{n}", interactive) for n, panel in enumerate(drawn)]
    return Section(
        case,
        content.solvers(case.rows),
        plots,
        missing,
        content.uncertain(case.rows),
        content.answers(content.answered(case.rows)),
        content.remarks(case.rows),
    )


def _plot(panel: Panel, key: str, interactive: bool) -> Plot:
    picture = ""
    if interactive:
        from parcast_report.interactive import figure

        picture = figure(panel, key)
    picture = picture or embedded(panel.draw, key, panel.description)
    return Plot(panel.title, markup(picture), panel.table)


def markup(text: str) -> Any:
    """Return text that stands on the page as it is."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704  (made here, with every name in it escaped)


def read(name: str) -> str:
    """Return a file of the package."""
    return (files(__package__) / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Template:
    """Return a template of the package, which shows all text as text."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    def printable(value: Any) -> Any:
        return value if isinstance(value, Markup) else visible(str(value)).strip()

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=printable, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.from_string(read(name))
