"""The message graph of a small trace as a picture, as the paper's Figure 5.

A call is two nodes, its start and its end, on the line of its rank. Edges of a rank are the calls
and the gaps between them, with how long they took; messages go from the start of a send to the end
of what completes their receive, and back where the sender waits. A collective is a node of its own.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parcast.errors import UnsupportedError
from parcast.files import GRAPHS, check_suffix, digraph, quoted, write_graph, write_lines
from parcast_traces.trace.calls import ALL, EXSCAN, FROM_ROOT, NONBLOCKING, SSEND, TO_ROOT
from parcast_traces.trace.columns import NONE, Trace
from parcast_traces.trace.decoding import Called, completions, decoded, pairs, received

if TYPE_CHECKING:
    import networkx as nx

#: Of files that a graph is written to.
SUFFIXES = (*GRAPHS, ".graphml")

#: A larger picture is no picture.
MOST_EVENTS = 1000

_COLORS = {"call": "#1f6f54", "gap": "#666666", "message": "#b03a2e", "together": "#2f5d9b"}


def message_graph(trace: Trace) -> nx.MultiDiGraph:
    """Return the message graph: nodes with ``rank``, ``call`` and ``time``, edges with ``kind``.

    Raises
    ------
    UnsupportedError
        If the trace is too long for a picture.
    """
    import networkx as nx

    if trace.count > MOST_EVENTS:
        raise UnsupportedError(
            f"{trace.where} has {trace.count:,} events, and up to {MOST_EVENTS:,} are drawn"
        )
    graph = nx.MultiDiGraph()
    calls, receipts = defaultdict[tuple[int, int], int](int), received(trace)
    for rank in range(trace.size):
        before = None
        for call in decoded(trace, rank, receipts):
            _add_call(graph, trace, rank, call, before)
            if call.kind >= ALL:
                number = calls[rank, call.comm]
                calls[rank, call.comm] += 1
                _join_collective(graph, trace, call, number)
            before = call
    _add_messages(graph, trace)
    return graph


def _add_call(graph: nx.MultiDiGraph, trace: Trace, rank: int, call: Called, before: Any) -> None:
    start, end = f"S{call.row}", f"E{call.row}"
    for node, time in ((start, call.start), (end, call.end)):
        graph.add_node(node, rank=rank, event=call.row, call=call.name, time=time)
    duration = call.end - call.start
    graph.add_edge(start, end, kind="call", weight=duration, label=_amount(trace, duration))
    if before is not None:
        gap = call.start - before.end
        graph.add_edge(f"E{before.row}", start, kind="gap", weight=gap, label=_amount(trace, gap))


def _join_collective(graph: nx.MultiDiGraph, trace: Trace, call: Called, number: int) -> None:
    """Join a member to the node of its collective: those who are waited for, those who wait."""
    node = f"C{call.comm}.{number}"
    label = f"{call.blocking} {number}"
    graph.add_node(node, rank=NONE, event=NONE, call=label, time=call.start)
    kind = call.kind - (NONBLOCKING if call.kind > EXSCAN else 0)
    rank = int(trace.events.rank_of(call.row))
    root = rank == call.root
    if kind not in (FROM_ROOT, TO_ROOT) or (kind == FROM_ROOT) == root:
        graph.add_edge(f"S{call.row}", node, kind="together", weight=call.size, label="")
    if kind not in (FROM_ROOT, TO_ROOT) or (kind == TO_ROOT) == root:
        graph.add_edge(node, f"E{call.row}", kind="together", weight=0.0, label="")


def _add_messages(graph: nx.MultiDiGraph, trace: Trace) -> None:
    ends = completions(trace)
    for send, receive in zip(*(rows.tolist() for rows in pairs(trace)), strict=True):
        size = float(trace.events.times[send, 2])
        into = int(ends[receive])
        graph.add_edge(f"S{send}", f"E{into}", kind="message", weight=size, label=f"{size:g} B")
        if trace.events.whole[send, 0] in (SSEND, SSEND + 3):
            back = int(ends[send])
            graph.add_edge(f"E{into}", f"E{back}", kind="message", weight=0.0, label="ack")


def _amount(trace: Trace, ticks: float) -> str:
    if not trace.timed or trace.tick is None:
        return f"{ticks:g}"
    return f"{ticks * trace.tick * 1e6:g} us"


def dot(graph: nx.MultiDiGraph, size: int) -> str:
    """Return the graph in Graphviz's language, a row for each rank."""
    lines = [
        "rankdir=LR; ranksep=0.45; nodesep=0.3;",
        "node [shape=circle, width=0.34, fixedsize=true];",
    ]
    by_rank: dict[int, list[str]] = defaultdict(list)
    for node, data in graph.nodes(data=True):
        by_rank[data["rank"]].append(node)
    for rank in range(size):
        lines.append(f'subgraph cluster{rank} {{ label="rank {rank}"; color="#cccccc"; '
                     'style=rounded;')  # fmt: skip
        for node in by_rank[rank]:
            color = "#eef5f0" if node[0] == "S" else "white"
            lines.append(f'{node} [label="{node[0]}", fillcolor="{color}"];')
        lines.append("}")
    for node in by_rank[NONE]:
        label = quoted(graph.nodes[node]["call"])
        lines.append(f'"{node}" [label={label}, shape=box, fixedsize=false, color="#2f5d9b"];')
    for source, target, data in graph.edges(data=True):
        kind = data["kind"]
        style = ", style=dashed" if kind == "gap" else ""
        loose = ", constraint=false" if kind == "message" else ""
        weight = 20 if kind in ("call", "gap") else 1
        call = f"{graph.nodes[source]['call']}\n" if kind == "call" else ""
        label = quoted(f"{call}{data['label']}")
        lines.append(f'"{source}" -> "{target}" [label={label}, color="{_COLORS[kind]}", '
                     f'fontcolor="{_COLORS[kind]}", weight={weight}{style}{loose}];')  # fmt: skip
    return digraph("trace", lines)


def write(trace: Trace, path: Path) -> None:
    """Write the graph of a trace as a picture, as Graphviz's text, or as GraphML.

    Raises
    ------
    FileError
        If the suffix is of no picture, or the file cannot be written.
    HostError
        If Graphviz is missing.
    UnsupportedError
        If the trace is too long, or networkx is missing.
    """
    check_suffix(path, "a graph", SUFFIXES)
    try:
        import networkx as nx
    except ImportError:
        raise UnsupportedError(
            "graphs need networkx: pip install 'parcast-perturb[graph]'"
        ) from None
    graph = message_graph(trace)
    if path.suffix.lower() == ".graphml":
        write_lines(path, nx.generate_graphml(graph))
    else:
        write_graph(dot(graph, trace.size), path)
