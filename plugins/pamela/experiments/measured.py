"""Writes docs/measured.md: the paper's programs run on this host, beside their predictions.

``uv run plugins/pamela/experiments/measured.py [DIRECTORY]``, on an idle host of 2 cores or more,
and before with ``--compile``, which keeps the kernels for it.

The machine is calibrated by the paper's benchmark loop (section 4.1); no number of the programs'
own runs plays a part in a prediction.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

import parcast_pamela
import parcast_pamela_compiler
from parcast import Registry
from parcast_mpi import library
from parcast_mpi.host import load
from parcast_mpi.jobs import new_job, run
from parcast_pamela.compilation.compiler import Compiled, compile_model
from parcast_pamela.language.reading import model_of, read_model
from parcast_pamela_compiler.generating import generate

HERE = Path(__file__).parent
SOURCES = Path(parcast_pamela_compiler.__file__).parent / "sources"
LENGTH = 1024  #: of the benchmark's matrices and vectors, as in the paper
NODES = 512  #: of the graph of APSP
TIMES = 4
#: Program, sizes, and average and maximum error of the paper in percent
PROGRAMS = (
    ("MATMUL", ("matmul",), (256, 512, 1024), "5, 7"),
    ("ADI", ("adi-vertical", "adi-horizontal"), (1024,), "15, 77"),
    ("GAUSS", ("gauss-cyclic", "gauss-block", "gauss-ij-cyclic", "gauss-ij-block"), (512,),
     "13, 35"),
    ("PSRS", ("psrs", "psrs-improved"), (819_200,), "12, 26"),
    ("APSP", ("apsp",), (NODES,), "4, 10"),
)  # fmt: skip
WANTED = [(name, n) for _, names, sizes, _ in PROGRAMS for name in names for n in sizes]
PROCESSORS, STRIDES = (1, 2), (1, 2, 4, 8, 16)
WORKLOADS = Registry([parcast_pamela]).workloads
Point = tuple[str, int, int]
SCALAR = {
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "0",
    "NUMBA_CACHE_DIR": str(Path(tempfile.gettempdir()) / "parcast-measured-kernels"),
}


def job(ranks: int, **told: Any) -> dict[str, float]:
    """Return the median of all times that a job of so many ranks answers with."""
    found = library.find()
    with new_job() as folder:
        folder.tell({"times": TIMES, **told})
        command = found.command(ranks, [sys.executable, str(HERE / "ranks.py"), str(folder.folder)])
        code = run(found, command, folder, 60, lambda: None)
        answer = folder.answers(ranks)[0]
        if code or answer is None or "error" in answer:
            said = answer or (folder.folder / "output").read_text()
            raise SystemExit(f"the ranks ended with {code}: {said}")
    return {name: statistics.median(times) for name, times in answer.items()}


@attrs.frozen
class Calibrated:
    """The times of the machine while so many ranks compute, all in seconds."""

    machine: dict[str, float]
    apsp: dict[str, float]
    sort: float  #: 819,200 numbers
    stores: dict[int, float]  #: by stride


def calibrated(p: int) -> Calibrated:
    """Return the machine's times, and those of APSP, from loops of their own."""
    loops, messages = job(p, loops=LENGTH, nodes=NODES), job(2, moves=[1, LENGTH])
    stores = {s: loops[f"store {s}"] for s in STRIDES}
    machine = {
        "tc": (loops["compute 1"] - stores[1]) / 2,
        "tl": stores[1],
        "ts": stores[STRIDES[-1]] / STRIDES[-1],
        "line": STRIDES[-1],
        "tg": messages[f"move {LENGTH}"] / LENGTH,
        "tb": messages[f"bcast {LENGTH}"] / LENGTH / 2,
    }
    served = messages["move 1"] + messages[f"move {LENGTH}"] + loops["poll"] / 2
    return Calibrated(machine, {"tc": loops["node"], "ts": served}, loops["sort"], stores)


def model(name: str) -> Compiled:
    """Return the formulas of a program; APSP has its model by hand."""
    if name == "apsp":
        return compile_model(read_model(Path(str(WORKLOADS["apsp"].path))))
    path = SOURCES / f"{name}.py"
    text = generate(path.read_text(), path.name)
    return compile_model(model_of(text, name, machine=HERE / "this-host.pam"))


def predictions(found: Mapping[int, Calibrated]) -> dict[Point, float]:
    """Return T^l by name, size and number of processors."""
    times = {}
    for name, n in WANTED:
        compiled = model(name)
        for p, own in found.items():
            given = dict(own.apsp if name == "apsp" else own.machine)
            if name.startswith("psrs"):  # what a profile of the quicksort gives
                given["c"] = own.sort / own.machine["tc"] / (n * math.log2(n))
            times[name, n, p] = float(compiled.values({**given, "N": n, "P": p}).bound)
    return times


def measurements() -> dict[Point, float]:
    """Return the medians by name, size and number of processors."""
    found = {}
    for p in PROCESSORS:
        answers = job(p, programs=[one for one in WANTED if one[0] != "apsp"])
        answers |= job(p + 1, programs=[one for one in WANTED if one[0] == "apsp"])
        found |= {(name, n, p): answers[f"{name} {n}"] for name, n in WANTED}
    return found


def lines(before: str) -> Iterator[str]:
    """Yield the page."""
    calibration = {p: calibrated(p) for p in PROCESSORS}
    predicted, measured = predictions(calibration), measurements()
    yield from ("# Programs measured", "")
    yield "Made by `uv run plugins/pamela/experiments/measured.py`."
    yield ""
    yield (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, {_processor()}, {os.cpu_count()} cores, "
        f"{library.find()}, Python {platform.python_version()}; {before}. A time is the median of "
        f"{TIMES} runs, from the common start to the last rank's end."
    )
    yield from ("", ABOUT)
    yield from _calibration(calibration)
    yield from (
        "",
        "| program | N | P | measured | predicted | error |",
        "|---|---|---|---|---|---|",
    )
    errors = {key: 100 * (predicted[key] / measured[key] - 1) for key in measured}
    for (name, n, p), time in measured.items():
        shown = f"{1e3 * time:.4g} ms | {1e3 * predicted[name, n, p]:.4g} ms"
        yield f"| `{name}` | {n:,} | {p} | {shown} | {errors[name, n, p]:+.0f} % |"
    yield from ("", "| program | average and maximum error here | in the paper |", "|---|---|---|")
    for title, names, _, paper in PROGRAMS:
        own = [abs(one) for (name, _, _), one in errors.items() if name in names]
        yield f"| {title} | {statistics.mean(own):.0f} %, {max(own):.0f} % | {paper} % |"
    yield from ("", *choices(predicted, measured), "")


def _calibration(found: Mapping[int, Calibrated]) -> Iterator[str]:
    strides = ", ".join(map(str, STRIDES))
    yield f"| P | tc | tl | ts | tg | tb | node of APSP | its service | stores at {strides} |"
    yield "|---" * 9 + "|"
    for p, own in found.items():
        shown = [f"{1e9 * own.machine[name]:.3g} ns" for name in ("tc", "tl", "ts", "tg", "tb")]
        shown += [f"{1e6 * own.apsp[name]:.4g} us" for name in ("tc", "ts")]
        shown.append(", ".join(f"{1e9 * one:.3g}" for one in own.stores.values()) + " ns")
        yield f"| {p} | {' | '.join(shown)} |"


def choices(predicted: Mapping[Point, float], measured: Mapping[Point, float]) -> Iterator[str]:
    """Yield for each pair of alternatives which is better, predicted and measured."""
    yield from ("| at P = 2 | predicted better | measured better |", "|---|---|---|")
    for one, other, n in (
        ("adi-vertical", "adi-horizontal", 1024), ("gauss-cyclic", "gauss-block", 512),
        ("gauss-ij-cyclic", "gauss-ij-block", 512), ("gauss-ij-cyclic", "gauss-cyclic", 512),
        ("gauss-ij-block", "gauss-block", 512), ("psrs-improved", "psrs", 819_200),
    ):  # fmt: skip
        better = [
            min((one, other), key=lambda name: times[name, n, 2]) for times in (predicted, measured)
        ]
        yield f"| `{one}` or `{other}` | `{better[0]}` | `{better[1]}` |"


ABOUT = """\
The programs (`experiments/ranks.py`) are kernels by numba, without vector instructions so that a
statement takes what it takes by itself, and messages by mpi4py; each result is checked. The loops
of MATMUL go along rows (k before j), which changes none of its charges. APSP has P workers and a
farmer more, which polls.

The times of `experiments/this-host.pam` are calibrated, on as many ranks at once as the program
has, by the paper's loop over a matrix of 1,024 by 1,024: by its statement `A[i, j] = V[i]` at
strides of 1 to 16, by the same with a multiplication and an addition, and by messages and
broadcasts of 1,024 elements. The constant of the quicksort is that of 819,200 numbers, and a node
of APSP takes what it does in the sequential algorithm. No time of a program's own run plays a part
in its prediction.
"""


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main() -> None:
    """Write the page."""
    os.environ.update(SCALAR)
    if "--compile" in sys.argv:
        small = [(name, 64) for _, names, _, _ in PROGRAMS for name in names]
        job(1, loops=32, nodes=32, programs=[one for one in small if one[0] != "apsp"])
        job(2, moves=[1], programs=small)
        return
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else HERE.parent / "docs")
    before = f"load before: {load(1.0)}"
    text = "\n".join(lines(before))
    print(text)
    (folder / "measured.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
