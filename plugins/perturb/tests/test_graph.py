"""The message graph as a picture: its nodes, its edges, its files."""

import json
import xml.etree.ElementTree as ET

import pytest

from parcast.cli import main
from parcast.errors import FileError, UnsupportedError
from parcast_perturb.graph import dot, message_graph, write
from parcast_traces.readers.neutral import trace_of

pytest.importorskip("networkx")

TRACE = {"nranks": 3, "unit": "1 us", "ranks": [
    [{"kind": "send", "peer": 1, "bytes": 8, "t_start": 1000, "t_end": 1010},
     {"kind": "bcast", "root": 0, "bytes": 8, "t_start": 1100, "t_end": 1168}],
    [{"kind": "irecv", "peer": 0, "bytes": 8, "t_start": 200, "t_end": 201, "request": 1},
     {"kind": "ssend", "peer": 2, "bytes": 16, "t_start": 300, "t_end": 420},
     {"kind": "wait", "request": 1, "t_start": 500, "t_end": 1078},
     {"kind": "bcast", "root": 0, "bytes": 8, "t_start": 1080, "t_end": 1168}],
    [{"kind": "recv", "peer": 1, "bytes": 16, "t_start": 100, "t_end": 410},
     {"kind": "bcast", "root": 0, "bytes": 8, "t_start": 1000, "t_end": 1168}]]}  # fmt: skip


def edges(graph, kind):
    return sorted((a, b) for a, b, data in graph.edges(data=True) if data["kind"] == kind)


def test_messages_end_where_they_are_waited_for():
    graph = message_graph(trace_of(TRACE, "x"))
    # events 0 and 1 are of rank 0, 2 to 5 of rank 1, 6 and 7 of rank 2
    assert edges(graph, "call") == [(f"S{row}", f"E{row}") for row in range(8)]
    assert edges(graph, "gap") == [("E0", "S1"), ("E2", "S3"), ("E3", "S4"), ("E4", "S5"),
                                   ("E6", "S7")]  # fmt: skip
    assert edges(graph, "message") == [("E6", "E3"), ("S0", "E4"), ("S3", "E6")]
    assert edges(graph, "together") == [("C0.0", "E5"), ("C0.0", "E7"), ("S1", "C0.0")]
    assert graph.nodes["S3"]["call"] == "ssend"


@pytest.mark.parametrize("suffix", ["dot", "graphml", "svg"])
def test_files_hold_the_whole_graph(graphviz, tmp_path, suffix):
    source = tmp_path / "a.json"
    source.write_text(json.dumps(TRACE))
    path = tmp_path / f"a.{suffix}"
    assert main(["perturb", "graph", str(source), "-o", str(path)]) == 0
    text = path.read_text()
    if suffix == "dot":
        assert text == dot(message_graph(trace_of(TRACE, "x")), 3)
        assert text.count("->") == 8 + 5 + 3 + 3
        return
    root = ET.fromstring(text)
    space = root.tag.partition("}")[0] + "}"
    if suffix == "graphml":
        graph = root.find(f"{space}graph")
        assert len(graph.findall(f"{space}node")) == 17
        assert len(graph.findall(f"{space}edge")) == 19
    else:
        labels = [one.text for one in root.iter(f"{space}text")]
        assert {"rank 0", "rank 1", "rank 2", "16 B", "578 us", "bcast 0"} <= set(labels)


def test_what_cannot_be_drawn_is_refused(tmp_path):
    small = trace_of({"ranks": [[]]}, "x")
    with pytest.raises(FileError, match=r"is written as \.svg"):
        write(small, tmp_path / "a.jpg")
    with pytest.raises(FileError, match="cannot be written"):
        write(small, tmp_path / "nowhere" / "a.dot")
    event = {"kind": "call", "t_start": 0, "t_end": 0}
    with pytest.raises(UnsupportedError, match=r"1,001 events, and up to 1,000 are drawn"):
        write(trace_of({"ranks": [[event] * 1001]}, "x"), tmp_path / "a.dot")
    assert not list(tmp_path.iterdir())
