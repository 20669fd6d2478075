"""Pictures of graphs, which Graphviz's program ``dot`` draws."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from parcast.errors import FileError, HostError, shorten
from parcast.files.writing import check_suffix, write_bytes

#: How names of files with graphs end.
GRAPHS = (".svg", ".png", ".pdf", ".dot")

#: Colors of graphs, and what each is in an SVG where the reader's scheme is dark.
DARK = {
    "black": "#e6e6e6",
    "white": "#16181c",
    "#666666": "#9a9a9a",  # lines
    "#cccccc": "#4a4d54",  # frames
    "#eeeeee": "#33363c",
    "#dde8f5": "#2c4763",
    "#ffd24d": "#8a6500",
    "#eef5f0": "#22382f",
    "#1f6f54": "#58b894",
    "#b03a2e": "#ef8a7e",
    "#2f5d9b": "#82aef0",
}
_LOOK = (
    'graph [fontname="Helvetica", fontsize=10, bgcolor=white];',
    "graph [nslimit=1, nslimit1=1];",  # some long nets take a hundred times longer without
    'node [fontname="Helvetica", fontsize=10, style=filled, fillcolor=white];',
    'edge [fontname="Helvetica", fontsize=8, arrowsize=0.6, color="#666666"];',
)


def quoted(text: str) -> str:
    """Return a text as a string of DOT, Graphviz's language."""
    for character, escape in (("\\", r"\\"), ('"', r"\""), ("&", "&amp;"), ("\n", r"\n")):
        text = text.replace(character, escape)
    return f'"{text}"'


def digraph(name: str, statements: Iterable[str]) -> str:
    """Return a directed graph in DOT, which has the look of all graphs here."""
    return "\n".join([f"digraph {quoted(name)} {{", *_LOOK, *statements, "}", ""])


def graph_svg(text: str, instead: str) -> str:
    """Return the picture of a graph as the element ``svg``, which follows a dark scheme.

    Parameters
    ----------
    text
        The graph in DOT; its colors should be some of `DARK`.
    instead
        What a user can do who has no Graphviz.

    Raises
    ------
    HostError
        If Graphviz is missing.
    FileError
        If it cannot draw the graph.
    """
    svg = _picture(text, "svg", instead).decode()
    head, end, body = svg[svg.index("<svg") :].partition(">")
    rules = [
        f'[fill="{light}"] {{ fill: {dark} }} [stroke="{light}"] {{ stroke: {dark} }}'
        for light, dark in DARK.items()
    ]
    rules.append(f"svg text:not([fill]) {{ fill: {DARK['black']} }}")
    style = "\n".join(["<style>@media (prefers-color-scheme: dark) {", *rules, "}</style>"])
    return f"{head}{end}\n{style}{body}"


def write_graph(text: str, path: Path) -> None:
    """Write a graph in DOT as a picture, or as it is, by the suffix of the file: see `GRAPHS`.

    Raises
    ------
    HostError
        If Graphviz is missing.
    FileError
        If the suffix is another, or the picture cannot be drawn or written.
    """
    suffix, instead = path.suffix.lower(), f"write {path.with_suffix('.dot').name}"
    check_suffix(path, "a graph", GRAPHS)
    if suffix == ".dot":
        data = text.encode()
    elif suffix == ".svg":
        data = graph_svg(text, instead).encode()
    else:
        data = _picture(text, suffix[1:], instead)
    write_bytes(path, data)


def _picture(text: str, form: str, instead: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise HostError(
            "pictures of graphs need Graphviz's program dot on the PATH: apt install graphviz, "
            f"brew install graphviz or https://graphviz.org/download; without it, {instead}"
        )
    process = subprocess.run(  # noqa: S603 - the program on the user's PATH, no shell
        [program, f"-T{form}"], input=text.encode(), capture_output=True, check=False
    )
    if process.returncode:
        raise FileError(f"dot cannot draw: {shorten(process.stderr.decode(errors='replace'))}")
    return process.stdout
