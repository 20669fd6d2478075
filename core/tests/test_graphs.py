"""Graphs in DOT: any text in them, files of every suffix, and a dark scheme."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parcast.errors import FileError, HostError
from parcast.files import DARK, GRAPHS, digraph, graph_svg, quoted, write_graph
from parcast.testing import cases

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), min_size=1
)


def two(label="a"):
    return digraph("two", [f"a [label={quoted(label)}];", 'a -> b [color="#1f6f54"];'])


def texts(svg, kind):
    groups = [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == kind]
    return [[text.text for text in group.iter(f"{SVG}text")] for group in groups]


@settings(max_examples=cases(20))
@given(TEXTS)
@example([r"a\N", 'say "x"', "a&lt;b", "x\\", "<b>", "%d", "end;}"])
def test_any_text_is_drawn_as_it_is(graphviz, lines):
    svg = graph_svg(two("\n".join(lines)), "do not")
    assert texts(svg, "node") == [lines, ["b"]]


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".dot", b"digraph")],
)
def test_a_graph_is_written_by_its_suffix(graphviz, tmp_path, suffix, start):
    assert suffix in GRAPHS
    path = tmp_path / f"a{suffix.upper()}"
    write_graph(two(), path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_no_color_stays_light_in_a_dark_scheme(graphviz):
    root = ET.fromstring(graph_svg(two(), "do not"))
    (style,) = root.iter(f"{SVG}style")
    for part in ("fill", "stroke"):
        colors = {one.get(part) for one in root.iter()} - {None, "none", "transparent"}
        assert "white" in colors or part == "stroke"
        assert colors <= DARK.keys()
        assert all(f'[{part}="{color}"] {{ {part}: {DARK[color]} }}' in style.text
                   for color in colors)  # fmt: skip
    assert "prefers-color-scheme: dark" in style.text


def test_without_graphviz_there_is_a_sentence_and_the_text(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"apt install graphviz.*without it, write a\.dot$"):
        write_graph(two(), tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
    write_graph(two(), tmp_path / "a.dot")
    assert (tmp_path / "a.dot").read_text() == two()


def test_what_cannot_be_drawn_or_written_is_one_sentence(graphviz, tmp_path):
    with pytest.raises(FileError, match=r"a graph is written as \.svg, \.png, \.pdf or \.dot"):
        write_graph(two(), tmp_path / "a.jpg")
    with pytest.raises(FileError, match=r"dot cannot draw: .*syntax error"):
        write_graph("digraph {", tmp_path / "a.svg")
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        write_graph(two(), tmp_path / "nowhere" / "a.dot")
    assert not list(tmp_path.iterdir())
