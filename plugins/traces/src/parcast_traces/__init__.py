"""Recorded runs: their columns, the formats of other tools, and runs as programs."""

from __future__ import annotations

from parcast import KernelEntry, KindEntry, Lowering, Reader

#: What packed files and traces of any suffix begin with, and the names of those in a folder.
_ANY = (
    r"\A(?:\x1f\x8b|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd|#Paraver|num_ranks|PARCAST1|.BOTF2"
    r"|\x7f\x10\0{6}|\xff\xaa\xddDUMPI|MPI_\w+ entering at walltime |(?s:#.{0,400}?\nMPI_Init:)"
    r"|\s*\d+\s+(?:init|compute|send|recv)\b|(?:[\w./-]+\.(?:txt|tit|trace)\s+)+\Z"
    r'|\s*\{\s*"(?:schemaVersion|traceEvents)")'
    r"|(?m:\.(?:trace|otf2|prv|tit|goal|et|json|txt|bin)(?:\.(?:gz|bz2|xz|zst))?$)"
)

_JSON = (
    r'"(t_start|traceEvents|distributedInfo|deviceProperties)"|_NODE"|"ranks": *\[|"comms":'
    r'|"workload_graph"|\A\s*\{\s*"schema": *"\d|\A\s*\[\s*\{(?:[^{}]|\{[^{}]*\})*"ph"\s*:'
)

#: What is read by suffix, and what tells it from other files of this suffix.
_READ = {
    ".trace": ("A recorded run, in columns.", ""),
    ".otf2": ("A recorded run, by Score-P and others.", ""),
    ".prv": ("A recorded run, by Extrae.", ""),
    ".tit": ("A time-independent trace of SimGrid.", ""),
    ".goal": ("A schedule of LogGOPSim.", ""),
    ".et": ("An execution trace of Chakra.", ""),
    ".txt": ("A recorded run as DUMPI, liballprof, SimGrid or LogGOPSim print it.", ""),
    ".json": ("A recorded run in the neutral form, of Chakra or of PyTorch's profiler.", _JSON),
    "": ("A folder, a pattern, an archive or a packed file of any of these.", _ANY),
}


parcast_kinds = (
    KindEntry(
        "trace",
        "parcast_traces.workload:Traced",
        "What every rank called and when.",
        suffix=".trace",
    ),
)


parcast_readers = tuple(
    Reader(
        suffix,
        "parcast_traces.workload:read",
        summary,
        mark=mark,
        alike=True,
        shown="parcast_traces.workload:read_whole",
    )
    for suffix, (summary, mark) in _READ.items()
)


parcast_lowerings = (
    Lowering(
        "trace",
        "program",
        "parcast_traces.to_program:program",
        "Its calls, and what was computed between them, at its own number of processes.",
        shared=True,
    ),
)


parcast_kernels = (
    KernelEntry("traces", "parcast_traces.warming:schedules", "The order of a schedule's steps."),
)
