"""Files: tables of machines and workloads, series of measured times, pictures of graphs, XML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcast.startup import lazily

if TYPE_CHECKING:
    from parcast.files.alike import ASSUMED_ALIKE, assuming_alike
    from parcast.files.datasets import LICENCES, read_dataset
    from parcast.files.graphs import DARK, GRAPHS, digraph, graph_svg, quoted, write_graph
    from parcast.files.structuring import structure
    from parcast.files.table_writing import table_text
    from parcast.files.tables import read_data, read_text, workload_from_data
    from parcast.files.writing import (
        check_file,
        check_folder,
        check_suffix,
        whole_file,
        write_bytes,
        write_lines,
        write_text,
    )
    from parcast.files.xml import read_xml
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "ASSUMED_ALIKE",
    "DARK",
    "GRAPHS",
    "LICENCES",
    "assuming_alike",
    "check_file",
    "check_folder",
    "check_suffix",
    "digraph",
    "graph_svg",
    "quoted",
    "read_data",
    "read_dataset",
    "read_text",
    "read_xml",
    "structure",
    "table_text",
    "whole_file",
    "workload_from_data",
    "write_bytes",
    "write_graph",
    "write_lines",
    "write_text",
]
