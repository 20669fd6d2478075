"""Count what SMPI's collectives send, and compare it with our algorithms.

    python count.py FOLDER [--processes 2-17] [--table TABLE.json]

It needs SimGrid's SMPI (Debian: libsimgrid-dev). ``call.c`` calls a collective; its messages are
those of a trace with internals. FOLDER holds what is compiled and written. The table is what the
tests of the core read: of each algorithm of SMPI, who sends how many bytes to whom.
"""

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from parcast.program import Block, Site, Unrolled
from parcast.program.matching import expand
from parcast.program.matching.collectives import algorithms

#: Of each collective, our algorithm by SMPI's name.
SAME = {
    "barrier": {
        "ompi_bruck": "dissemination",
        "ompi_recursivedoubling": "recursive-doubling",
        "ompi_basic_linear": "linear",
        "ompi_tree": "tree",
    },
    "bcast": {
        "binomial_tree": "binomial",
        "flattree": "linear",
        "scatter_rdb_allgather": "scatter-allgather",
        "scatter_LR_allgather": "scatter-ring-allgather",
        "ompi_split_bintree": "split-binary",
    },
    "reduce": {
        "binomial": "binomial",
        "ompi_basic_linear": "linear",
        "ompi_in_order_binary": "in-order-binary",
        "ompi_binary": "binary",
        "scatter_gather": "rabenseifner",
    },
    "gather": {
        "ompi_basic_linear": "linear",
        "ompi_binomial": "binomial",
        "ompi_linear_sync": "linear-sync",
    },
    "scatter": {
        "ompi_basic_linear": "linear",
        "ompi_binomial": "binomial",
        "ompi_linear_nb": "linear-nb",
    },
    "allreduce": {
        "rdb": "recursive-doubling",
        "rab_rdb": "rabenseifner",
        "lr": "ring",
        "redbcast": "tree",
    },
    "allgather": {
        "bruck": "bruck",
        "rdb": "recursive-doubling",
        "ompi_neighborexchange": "neighbor",
        "NTSLR": "ring",
    },
    "alltoall": {
        "basic_linear": "linear",
        "bruck": "modified-bruck",
        "ring": "pairwise",
        "pair": "pairwise-exchange",
    },
    "reduce_scatter": {
        "ompi_basic_recursivehalving": "recursive-halving",
        "ompi_ring": "ring",
        "ompi_butterfly": "butterfly",
        "mpich_pair": "pairwise",
    },
}
#: Small; whole doubles in blocks of a ninth, a tenth and so on; larger.
BYTES = (8, 40320, 5765760)
LIBRARY_BYTES = (64, 1024, 40320, 655200)
#: Processes and bytes that the table has.
TABLED, TABLED_BYTES = (2, 3, 5, 8, 13), (0, 40320)
LARGEST = 50e6  # bytes that all processes hold
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="h" suffix="" radical="0-63" speed="1Gf"
bw="1GBps" lat="1us"/></platform>
"""

#: Bytes of each message from one process to another, ascending.
Messages = dict[tuple[int, int], list[float]]


def prepare(folder: Path) -> None:
    """Compile the call, and write the platform that it runs on."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "platform.xml").write_text(PLATFORM)
    (folder / "hosts").write_text("".join(f"h{number}\n" for number in range(64)))
    source = Path(__file__).with_name("call.c")
    subprocess.run(["smpicc", "-O1", source, "-o", folder / "call"], check=True)  # noqa: S603, S607


def counted(folder: Path, setting: str, op: str, p: int, n: int, root: int) -> Messages | None:
    """Return the messages of a collective, None where SMPI has none.

    They are what a second call adds: the first one also makes communicators of nodes.
    """
    once, twice = (traced(folder, setting, op, p, n, root, calls) for calls in (1, 2))
    return None if once is None or twice is None else lists(twice - once)


def traced(
    folder: Path, setting: str, op: str, p: int, n: int, root: int, calls: int
) -> Counter[tuple[int, int, float]] | None:
    """Return how many messages of how many bytes calls send from whom to whom."""
    settings = [setting, "tracing/smpi/internals:yes", "tracing/smpi/display-sizes:yes"]
    machine = ["-np", str(p), "-platform", "platform.xml", "-hostfile", "hosts"]
    options = ["-trace", "-trace-file", "trace", *(f"--cfg={option}" for option in settings)]
    call = ["./call", op, str(n), str(root), str(calls)]
    command = ["smpirun", *machine, *options, "--log=root.thresh:error", *call]
    if subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode:  # noqa: S603
        return None
    messages: Counter[tuple[int, int, float]] = Counter()
    for line in (folder / "trace").read_text().splitlines():
        words = line.split()
        if words and words[0] == "15":  # the start of a message: key and size are last
            source, to = map(int, words[6].split("_")[:2])
            messages[source - 1, to - 1, float(words[7])] += source != to
    return messages


def lists(messages: Counter[tuple[int, int, float]]) -> Messages:
    """Return the bytes of each message by its processes."""
    table: Messages = {}
    for (source, to, bytes_), count in sorted(messages.items()):
        table.setdefault((source, to), []).extend([bytes_] * count)
    return table


def ours(op: str, text: str, p: int, n: int, root: int) -> Messages:
    """Return the messages that we expand a collective to."""
    arguments: dict[str, float | None] = {"color": None}
    if op != "barrier":
        arguments["bytes"] = n
    if op in ("bcast", "reduce", "gather", "scatter"):
        arguments["root"] = root
    native = Unrolled(p, [Block(0, op, None, arguments)], (Site("", 1),))
    messages: Counter[tuple[int, int, float]] = Counter()
    for rank, listed in enumerate(expand(native, algorithms(text)).by_rank()):
        for operation in listed:
            if "dst" in operation.arguments:
                key = operation.arguments["dst"], operation.arguments["bytes"]
                messages[rank, *key] += 1
    return lists(messages)


def alike(left: Messages, right: Messages, p: int) -> bool:
    """Whether the same messages go between the same processes, up to the rounding of blocks.

    Libraries cut a vector in blocks of whole elements, and the last block may be the smaller.
    """
    left, right = ({k: [b for b in v if b] or v for k, v in m.items()} for m in (left, right))
    return left.keys() == right.keys() and all(
        len(left[pair]) == len(right[pair])
        and np.allclose(left[pair], right[pair], rtol=0.02, atol=9 * p)
        for pair in left
    )


def cases(processes: range) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Yield collective, SMPI's name and ours, processes, bytes and root."""
    for op, names in SAME.items():
        whole = op in ("bcast", "reduce", "allreduce", "barrier")
        for (theirs, name), p in ((pair, p) for pair in names.items() for p in processes):
            for n in (0,) if op == "barrier" else BYTES:
                if n * (p if whole else p * p) < LARGEST:
                    yield op, theirs, name, p, n, p // 3 if op in ("gather", "scatter") else 0


def by_library(processes: range) -> Iterator[tuple[str, str, str, int, int, int]]:
    """Yield the same of what SMPI takes as a library does, and of our rules for that library."""
    for library, selector in (("mpich", "mpich"), ("openmpi", "ompi")):
        for op in SAME:
            for p in processes:
                for n in (0,) if op == "barrier" else LIBRARY_BYTES:
                    yield op, selector, library, p, n, p // 3 if op in ("gather", "scatter") else 0


def main() -> None:
    """Compare, and write the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", default="2-17")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--libraries", action="store_true", help="compare what libraries choose")
    arguments = parser.parse_args()
    low, _, high = arguments.processes.partition("-")
    prepare(arguments.folder)
    rows, equal, total = [], Counter[str](), Counter[str]()
    chosen = by_library if arguments.libraries else cases
    for op, theirs, name, p, n, root in chosen(range(int(low), int(high or low) + 1)):
        setting = "coll-selector" if arguments.libraries else op
        found = counted(arguments.folder, f"smpi/{setting}:{theirs}", op, p, n, root)
        if found is None:
            print(f"{op} {theirs}: SMPI has none of p={p}, n={n}")
            continue
        key = f"{op} {name} ({theirs})"
        text = name if arguments.libraries else f"{op} {name}"
        same = alike(ours(op, text, p, n, root), found, p)
        total[key] += 1
        equal[key] += same
        if not same:
            print(f"{key}: p={p}, n={n} differs")
        elif p in TABLED and n in TABLED_BYTES:
            messages = [[*pair, [int(size) for size in sizes]] for pair, sizes in found.items()]
            rows.append([op, name, theirs, p, n, root, messages])
    for key, count in total.items():
        print(f"{equal[key]} of {count} alike: {key}")
    if arguments.table:
        arguments.table.write_text(
            "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
        )


if __name__ == "__main__":
    main()
