"""A page that other members write: sections, tables, plots, all text as text."""

from __future__ import annotations

from parcast_report.content import Table
from parcast_report.document import Drawing, Section, document
from parcast_report.svg import point_out


def draw(figure):
    figure.subplots().plot([1, 2], [2, 1])


def test_a_document_shows_its_sections_once_and_escapes_what_it_is_given():
    table = Table("Numbers", ("by", "error"), (("<b>x</b>", "3 %"),))
    drawing = Drawing("A line", "It falls", draw)
    sections = [
        Section("One & two", sentences=["a < b"], tables=[table], drawings=[drawing]),
        Section("Three", hidden=[table]),
    ]
    page = document("Title", "Kind", ["What it is."], sections)
    assert page.count("<h2>") == 2
    assert "One &amp; two" in page
    assert "a &lt; b" in page
    assert "<b>x</b>" not in page
    assert page.count("&lt;b&gt;x&lt;/b&gt;") == 2
    assert (page.count("<svg"), page.count("<details")) == (1, 1)
    assert 'aria-label="It falls"' in page
    assert document("Title", "Kind", ["What it is."], sections) == page


def test_what_a_reader_points_at_says_what_it_is():
    def draw(figure):
        (line,) = figure.subplots().plot([1, 2], [2, 1])
        point_out(line, "1 < 2 & falling")

    section = Section("One", drawings=[Drawing("A line", "It falls", draw)])
    page = document("Title", "Kind", [], [section])
    assert "<title>1 &lt; 2 &amp; falling</title>" in page
    assert "note" not in page.partition("<svg")[2]
