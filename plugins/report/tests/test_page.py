"""The page in a real browser: quiet, alone, narrow, and whole for those who do not see plots."""

from __future__ import annotations

from itertools import product

import attrs
import pytest
from rows import CURVE, GRID, HOSTILE, results, row, whole

import parcast_report
from parcast import ParcastError, Registry, Results
from parcast.testing import turn
from parcast_report.page import page, write_interactive

REGISTRY = Registry([parcast_report])
WHOLE = whole()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a function that writes the page of some results, each once."""
    pages = {}

    def page_of(found, write):
        if (id(found), write) not in pages:
            path = tmp_path_factory.mktemp("page") / "report.html"
            write(found, path)
            pages[id(found), write] = path, found  # kept: no other results have its number
        return pages[id(found), write][0]

    return page_of


@pytest.fixture
def visit(browser, written):
    """Return a function that opens a page and fails on any message or request."""
    opened = []

    def open_page(found, width=1280, scheme="light", write=None):
        path = written(found, write or REGISTRY.write)
        tab = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        opened.append(tab)
        heard = []
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("dialog", lambda dialog: (heard.append("dialog"), dialog.dismiss()))
        tab.on("request", lambda request: heard.append(request.url))
        tab.goto(path.as_uri())
        assert heard == [path.as_uri()]
        return tab

    yield open_page
    for tab in opened:
        tab.close()


def texts(tab, selector):
    return [one.strip() for one in tab.locator(selector).all_text_contents()]


@pytest.mark.parametrize(
    ("found", "width"), turn(product([WHOLE, GRID, results(row(4))], [360, 1280]), 2)
)
def test_nothing_is_wider_than_the_screen(visit, found, width):
    tab = visit(found, width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    sizes = tab.locator("figure svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width)"
    )
    assert sizes
    assert min(sizes) > 250


def test_the_page_says_all_that_the_rows_say(visit):
    tab = visit(WHOLE)
    assert texts(tab, "h1") == ["w on m"]
    assert tab.locator(".question").text_content() == (
        "How long does w take on m with 1, 2, 4, 8 and 16 processes and 1 disk, where n = 64?"
    )
    assert texts(tab, "figcaption") == [
        "Time", "Speedup over p=1, d=1", "Where the time goes: a.bound",
        "Where the time goes: b.sim", "Error against the measured times",
        "Distribution of the time",
    ]  # fmt: skip
    assert texts(tab, "main h2") == ["Assumptions", "Notes", "Provenance"]
    body = tab.locator("main").text_content()
    for said in ("refused: there is no network", "messages never queue", "a note", "2002-01-01"):
        assert said in body
    cells = texts(tab, "section.case > .wide:first-of-type tbody tr:nth-child(2) > *")
    assert cells[:2] == ["b.sim", "5 of 5 points"]
    assert "1.25 s" in cells  # five times 0.25


def test_refusals_are_folded_and_take_no_row_of_the_answers(visit):
    tab = visit(WHOLE)
    folded = tab.locator("details.remarks")
    assert folded.get_attribute("open") is None
    assert folded.locator("summary").text_content() == "c.none: no answer, and why"
    assert folded.locator("dd").all_text_contents() == ["refused: there is no network"]
    assert "c.none" not in tab.locator("details.all").text_content()


def test_several_machines_stand_beside_each_other_above_the_cases(visit):
    rows = [attrs.evolve(row, machine=name, time=row.time and row.time / faster)
            for name, faster in (("m", 1), ("quick", 2)) for row in WHOLE.rows]  # fmt: skip
    tab = visit(Results(tuple(rows)))
    overview = tab.locator("section.overview")
    assert overview.locator("li").first.text_content().startswith("fastest: w on quick")
    ratios = texts(tab, "section.overview tbody td:nth-child(4)")
    assert ratios == ["1", "2"] * 5


def test_a_table_of_numbers_opens_below_each_plot(visit):
    tab = visit(WHOLE)
    first = tab.locator("figure").first
    first.locator("summary").click()
    lines = first.locator("tbody tr").all_inner_texts()
    assert lines[1].split("\t")[0] == "2"
    assert "(10 s .. 45 s), measured 40 s" in lines[1]
    assert tab.locator("figure table").count() == tab.locator("figure svg").count()


def test_the_map_and_the_speedups_of_a_surface_are_tables_too(visit):
    tab = visit(GRID)
    assert texts(tab, "figcaption") == ["Speedup over p=1, d=1", "Bottleneck"]
    assert texts(tab, "figure:last-of-type tbody tr:last-child > *") == ["16"] + 3 * ["network"]


CHECKS = """() => {
  const all = (s) => [...document.querySelectorAll(s)], bad = [];
  if (document.documentElement.lang !== "en") bad.push("lang");
  if (!document.title) bad.push("title");
  if (all("h1").length !== 1 || all("main").length !== 1) bad.push("landmarks");
  const ids = all("[id]").map((e) => e.id);
  if (new Set(ids).size !== ids.length) bad.push("ids twice");
  for (const e of all("svg, [role=img]"))
    if (e.getAttribute("role") !== "img" || !e.getAttribute("aria-label")) bad.push("image");
  for (const e of all("use, [clip-path]")) {
    const at = (e.getAttribute("href") || e.getAttribute("clip-path")).match(/#([^)]+)/)[1];
    if (!document.getElementById(at)) bad.push("lost " + at);
  }
  for (const e of all("table")) {
    if (!e.caption) bad.push("caption");
    if (!e.querySelector("thead th[scope=col]")) bad.push("column heads");
  }
  for (const e of all("th")) if (!e.textContent.trim() || !e.scope) bad.push("th");
  for (const e of all(".wide"))
    if (!e.getAttribute("aria-label") || e.tabIndex !== 0) bad.push("scrolled");
  let level = 0;
  for (const e of all("h1, h2, h3")) {
    const own = Number(e.tagName[1]);
    if (own > level + 1) bad.push("heading skipped");
    level = own;
  }
  return bad;
}"""


@pytest.mark.parametrize("found", [WHOLE, GRID, results(row(1), row(1, machine="n"))])
def test_those_who_do_not_see_it_can_read_it(visit, found):
    assert visit(found).evaluate(CHECKS) == []


INK = """() => {
  const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3;
  const back = light(getComputedStyle(document.querySelector("figure")).backgroundColor);
  return [...document.querySelectorAll("figure svg text")]
    .map((e) => Math.abs(light(getComputedStyle(e).fill) - back));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_labels_stand_out_in_light_and_dark(visit, scheme):
    tab = visit(WHOLE, scheme=scheme)
    distances = tab.evaluate(INK)
    assert len(distances) > 40
    assert min(distances) > 120
    back = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(20, 23, 28)") == (scheme == "dark")


def test_paper_is_white_and_shows_every_answer(visit):
    tab = visit(WHOLE, scheme="dark")
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.pdf().startswith(b"%PDF")
    assert tab.locator(".all tbody tr").last.is_visible()
    assert not tab.locator("figure summary").first.is_visible()


@pytest.mark.parametrize("write", [None, write_interactive])
def test_hostile_names_stay_names(visit, write):
    rows = [
        row(p, workload=HOSTILE[0], machine=HOSTILE[1], solver=name, notes=HOSTILE,
            params={HOSTILE[2]: HOSTILE[0]}, details={"assumptions": HOSTILE})
        for p in (1, 2, 4) for name in HOSTILE
    ]  # fmt: skip
    found = results(*rows, settings={HOSTILE[0]: HOSTILE[1]}, workloads=[{"name": HOSTILE[0]}])
    tab = visit(found, width=360, write=write)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert texts(tab, "h1") == [f"{HOSTILE[0]} on {HOSTILE[1]}"]
    assert "{{ 7 * 7 }}" in texts(tab, "section.case th[scope=row]")
    assert tab.locator("img").count() == 0
    assert "\u202e" not in tab.content()


def test_interactive_plots_are_drawn_by_the_page_itself(visit):
    tab = visit(WHOLE, write=write_interactive)
    tab.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length > 0")
    assert tab.locator(".js-plotly-plot").count() == 5
    assert tab.locator("figure > svg").count() == 1  # the distribution
    told = tab.evaluate("document.getElementById('c0p0').data.map(one => [one.name, one.y[0]])")
    assert told == [["a.bound", 72.51], ["b.sim", 72.51], ["measured", 80]]
    surface = visit(GRID, write=write_interactive)
    (speedups,) = surface.evaluate("document.getElementById('c0p0').data.map(one => one.z[0])")
    assert speedups == [r.speedup for r in GRID.rows if r.d == 1]


def test_without_plotly_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    with pytest.raises(ParcastError, match=r"pip install 'parcast-report\[interactive\]'"):
        page(CURVE, interactive=True)


def test_the_same_results_give_the_same_page():
    assert page(whole()) == page(whole())


def test_too_many_curves_are_drawn_by_solver_or_told():
    rows = [
        row(p, solver=s, params={"n": n}) for p in (1, 2, 4, 8) for s in "abc" for n in (1, 2, 3)
    ]
    made = page(results(*rows))
    assert made.count("<figcaption>Time</figcaption>") == 3
    many = [
        row(p, params={"n": n, "m": m}) for p in range(1, 5) for n in (1, 2, 3) for m in (1, 2, 3)
    ]
    made = page(results(*many))
    assert "are more than the 8 that one picture can tell apart" in made


def test_no_time_at_all_is_a_page_with_reasons():
    lost = WHOLE.rows[-1]
    made = page(results(lost))
    assert "No solver gives a time" in made
    assert "<svg" not in made
    assert "there is no network" in made


def test_an_interrupted_write_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("the old page")

    def half(file, text, *_, **__):
        with file.open("wb") as written:
            written.write(text[:100] if isinstance(text, bytes) else text[:100].encode())
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.write_bytes", half)
    monkeypatch.setattr("pathlib.Path.write_text", half)
    with pytest.raises(KeyboardInterrupt):
        write_interactive(CURVE, path)
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "the old page"
