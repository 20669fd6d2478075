"""Execution graphs of PyTorch (its ``ExecutionTraceObserver``), which have no times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from parcast.errors import UnsupportedError
from parcast_traces.readers.json_stream import members
from parcast_traces.trace.columns import Trace

#: What the host does for one collective; it is in the graph in several nodes.
_COMMUNICATION = "record_param_comms"


def read(path: Path, files: Sequence[Path] = ()) -> Trace:
    """Refuse a graph, as nothing in it says how long anything takes.

    Raises
    ------
    UnsupportedError
        Always.
    """
    nodes = Counter[str]()
    schema = ""
    for name, value in members(files[0] if files else path, "nodes"):
        if name == "nodes":
            nodes[str(value.get("name")) if isinstance(value, dict) else ""] += 1
        elif name == "schema":
            schema = str(value)
    raise UnsupportedError(
        f"{path}: an execution graph of PyTorch (schema {schema}, {nodes.total():,} nodes, "
        f"{nodes[_COMMUNICATION]:,} of communication) has dependencies and no times; give the "
        "profiler's trace of the run, or Chakra's, which its tools make of both"
    )
