"""Every shipped program, every family, as its machine changes: times over the reference.

    python experiments/differences/table.py > docs/differences.md

The reference is `parcast.testing.by_sweep` on the machine without contention and load: what
`docs/program.md` says, and nothing else. A cell is a family's time over it at 16 processes, with
the least and the largest over 2 to 64 behind it; below each table stands why, as ``parcast compare
--explain`` finds it at 16 processes.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import parcast_workloads
from parcast import Query, Registry, Results, Status
from parcast.analysis.explanation import explain
from parcast.model.costs import Costs
from parcast.model.machine import Machine
from parcast.program.matching.prepare import matched_program
from parcast.testing import by_sweep

P = (2, 4, 8, 16, 32, 64)
SHOWN = 16
FAMILIES = ("spmd", "petri", "pamela", "perturb", "emulator")

#: A slow network, so that differences show: a message of 1 MB takes a second.
MACHINE: Mapping[str, Any] = {
    "name": "slow-network",
    "processor": {"rate": "100 MFLOP/s"},
    "network": {"startup": "1 ms", "bandwidth": "1 MB/s", "contention": "none"},
    "storage": {"bandwidth": "10 MB/s", "startup": "10 ms", "disks": 1},
}
LOAD = {"demand": "exp:0.1s"}

#: What changes of the machine, by the row's name.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "contention `endpoint`": {"network": {**MACHINE["network"], "contention": "endpoint"}},
    "contention `bus`": {"network": {**MACHINE["network"], "contention": "bus"}},
    "one node loaded by 30 %": {"background": {**LOAD, "nodes": [0.3]}},
    "all nodes loaded by 30 %": {"background": {**LOAD, "utilization": 0.3}},
}

#: Loose enough for a table; a tenth of the smallest difference that is explained.
SETTINGS = {"petri.explicit.tolerance": 0.02, "petri.sampled.tolerance": 0.02}


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("-p", default=",".join(map(str, P)))
    asked = parser.parse_args()
    registry = Registry()
    sizes = tuple(map(int, asked.p.split(",")))
    named = asked.programs or [
        name
        for name in Registry([parcast_workloads]).workloads
        if registry.workload(name).kind == "program"
    ]
    print(HEAD)
    for name in named:
        print(f"\n## {name}\n")
        section(registry, name, sizes)


def section(registry: Registry, name: str, sizes: tuple[int, ...]) -> None:
    """Print one program's table and its reasons."""
    plain = registry.machine(dict(MACHINE))
    known = {p: reference(registry, name, plain, p) for p in sizes}
    print("| machine | " + " | ".join(FAMILIES) + " |")
    print("|---|" + "---|" * len(FAMILIES))
    reasons: dict[str, list[str]] = {}
    for change, parts in CHANGES.items():
        machine = registry.machine({**MACHINE, **parts})
        results = registry.compare(name, machine, p=sizes, solvers=FAMILIES, settings=SETTINGS)
        cells = [cell(results, family, known) for family in FAMILIES]
        print(f"| {change} | {' | '.join(cells)} |")
        reasons[change] = why(registry, results, name, machine, sizes)
        print(f"{name}: {change}", file=sys.stderr, flush=True)
    for change, said in reasons.items():
        if said:
            print(f"\n{change[0].upper()}{change[1:]}:\n")
            print("\n".join(f"- {one}" for one in said))


def reference(registry: Registry, name: str, machine: Machine, p: int) -> float:
    """Return the time by the cost table alone."""
    query = Query(workload=registry.workload(name), machine=machine, p=p)
    unrolled = matched_program(query, pools=True).unrolled
    return by_sweep(unrolled, Costs.of(query, unrolled.needs())).time


def cell(results: Results, family: str, known: Mapping[int, float]) -> str:
    """Return a family's times over the reference."""
    own = [row for row in results.rows if row.solver.partition(".")[0] == family]
    ratios = {row.p: row.time / known[row.p] for row in own if row.time and row.status is Status.OK}
    if not ratios:
        return "refused"
    shown = ratios.get(SHOWN)
    least, most = (f"{way(ratios.values()):.3f}" for way in (min, max))
    span = least if least == most else f"{least} .. {most}"
    return span if shown is None or least == most else f"**{shown:.3f}** ({span})"


def why(
    registry: Registry, results: Results, name: str, machine: Machine, sizes: tuple[int, ...]
) -> list[str]:
    """Return a sentence for each family that differs, and for each that refuses."""
    p = SHOWN if SHOWN in sizes else sizes[-1]
    at = Results(tuple(row for row in results.rows if row.p == p))
    said = [str(one) for one in explain(registry, at, name, machine, settings=SETTINGS)]
    refused = (row for row in at.rows if row.status is not Status.OK)
    unfollowed: dict[str, list[str]] = defaultdict(list)
    for row in at.rows:
        for note in row.notes:
            if note.startswith("the machine's"):
                unfollowed[note].append(row.solver)
    said += [f"{note} by {', '.join(solvers)}" for note, solvers in unfollowed.items()]
    return [*said, *(f"{row.solver}: {row.message}" for row in refused)]


HEAD = """# Differences

The time that each family predicts for each shipped program, over the reference of
[program.md](program.md) on the same machine without contention and load: **at 16 processes**
(least .. largest over 2 to 64), made by `experiments/differences/table.py`. 1.000 is the reference
to the last digit shown. Why a prediction differs is found as by `parcast compare --explain`: by
leaving out one modeling choice after another, here at 16 processes. `spmd` counts operations and
leaves out which process waits for which; `pamela` is a lower bound; `perturb` takes what disks and
pools decide from the reference; only `petri` models background jobs on nodes."""


if __name__ == "__main__":
    main()
