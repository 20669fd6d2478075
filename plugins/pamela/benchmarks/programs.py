"""Writes docs/programs.md: the paper's section 4 from its data-parallel sources.

``uv run plugins/pamela/benchmarks/programs.py [DIRECTORY]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import attrs
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import parcast_pamela_compiler
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import model_of
from parcast_pamela_compiler.generating import generate

SOURCES = Path(parcast_pamela_compiler.__file__).parent / "sources"
PROCESSORS = [1, 2, 4, 8, 16, 32, 64]
#: Figure, title, and its curves: name, source and N
FIGURES = (
    (5, "MATMUL", [(f"N = {n}", "matmul", n) for n in (256, 512, 1024)]),
    (6, "ADI, vertical phase, N = 1024",
     [("vertical", "adi-vertical", 1024), ("horizontal", "adi-horizontal", 1024)]),
    (7, "GAUSS, j-i loops, N = 512",
     [("cyclic", "gauss-cyclic", 512), ("block", "gauss-block", 512)]),
    (8, "GAUSS, i-j loops, N = 512",
     [("cyclic", "gauss-ij-cyclic", 512), ("block", "gauss-ij-block", 512)]),
    (9, "PSRS, N = 819,200",
     [("original", "psrs", 819_200), ("improved", "psrs-improved", 819_200)]),
)  # fmt: skip
CHOICES = {
    5: "There is no choice here. Broadcasts by one processor after the other cost N^2 P tg, which "
    "ends the speedup near 32 processors.",
    6: "Whole columns (vertical) speed up with P; with whole rows the phase runs down the "
    "processors one after the other, and has the moves at the edges of blocks besides.",
    7: "Cyclic columns balance the load, and are better at every P above 1.",
    8: "The i-j order goes along the rows, and with blocks is better than j-i at every P. Cyclic "
    "columns make the stride grow with P, which delays the speedup: at 2 processors they are "
    "better still, from 4 on blocks are, and from 4 on cyclic columns gain nothing over j-i.",
    9: "The replicated index vector costs N tg in all, however many processors there are; the "
    "partitioned one is better at every P.",
}
#: Of table 3: A, CT in s, ST_1 in ks, ST_2 in ms; the N and P of a point here, and the power
#: of N that the steps of ST_1 grow with
TABLE_3 = (
    ("MATMUL", "matmul", "0, 5.9, 684, 0.82", 1024, 32, 3),
    ("ADI", "adi-vertical", "0, 5.7, 72, 0.33", 1024, 64, 2),
    ("ADI", "adi-horizontal", "", 1024, 64, 2),
    ("GAUSS", "gauss-cyclic", "0, 14.2, 34, 16.1", 512, 32, 3),
    ("GAUSS", "gauss-block", "", 512, 32, 3),
    ("GAUSS", "gauss-ij-cyclic", "", 512, 32, 3),
    ("GAUSS", "gauss-ij-block", "", 512, 32, 3),
    ("PSRS", "psrs", "6, 18.1, 32, 1.84", 819_200, 4096, 1),
    ("PSRS", "psrs-improved", "", 819_200, 4096, 1),
)
CALLS = 1000


def timed(call):
    """Return CPU seconds and result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def model_text(name):
    """Return the text of a source's model."""
    path = SOURCES / f"{name}.py"
    return generate(path.read_text(), path.name)


def linked(name):
    """Return the model of a source on DAS I."""
    return model_of(model_text(name), name, machine="das1")


def figure(folder, number, title, curves) -> Iterator[str]:
    """Yield the lines of one figure, and draw it."""
    drawing = Figure(figsize=(6, 4), layout="constrained")
    axes = drawing.add_subplot()
    rows = []
    for label, name, n in curves:
        compiled = compile_model(linked(name))
        times = [float(compiled.values({"N": n, "P": p}).bound) for p in PROCESSORS]
        axes.plot(PROCESSORS, times, "o-", label=label)
        rows.append((label, name, compiled, times))
    axes.set(xscale="log", yscale="log", xlabel="P", ylabel="time [s]", title=title)
    axes.set_xticks(PROCESSORS, [str(p) for p in PROCESSORS], minor=False)
    axes.minorticks_off()
    axes.legend()
    drawing.savefig(folder / f"figure-{number}.svg", metadata={"Date": None})
    yield from (f"## Figure {number}: {title}", "", CHOICES[number], "")
    yield "| P | " + " | ".join(str(p) for p in PROCESSORS) + " |"
    yield "|---" * (len(PROCESSORS) + 1) + "|"
    for label, _, _, times in rows:
        yield f"| {label}, T^l [s] | " + " | ".join(f"{one:.4g}" for one in times) + " |"
    yield from ("", f"![Figure {number}](figure-{number}.svg)", "")
    for name in dict.fromkeys(name for _, name, _, _ in rows):
        yield from source(name, next(one for _, own, one, _ in rows if own == name))


def source(name, compiled) -> Iterator[str]:
    """Yield a source's model and its formula."""
    model = model_text(name).partition("import")[2]
    yield from (f"`{name}.py` is", "", "```")
    yield f"import{model}```".rstrip()
    yield from ("", f"T^l = `{compiled.bound!r}`", "")


def transpose() -> Iterator[str]:
    """Yield the lines of an exchange of all with all, which the paper does not have."""
    yield from (
        "## A transpose", "",
        ("Each processor sends every other one its share; the paper does not have it. T^l is the "
         "demand on a processor: N^2/P elements, of which 1/P are its own. Dealt cyclically, P "
         "need not divide N."), "",
    )  # fmt: skip
    for name in ("transpose-block", "transpose-cyclic"):
        yield from source(name, compile_model(linked(name)))


def each_call(function, points):
    """Return the CPU seconds of a call, the first left out."""
    function(**points)
    return timed(lambda: [function(**points) for _ in range(10)])[0] / 10


def row(title, name, paper, size, small, power):
    """Return the cells of one line of table 3, and the milliseconds of 1,000 points."""
    making, text = timed(lambda: model_text(name))
    compiling, compiled = timed(lambda: compile_model(model_of(text, name, machine="das1")))
    plain = compile_model(linked(name), simplify=False)
    before, expected = timed(lambda: plain.values({"N": small, "P": 4}))
    assert expected.bound == compiled.values({"N": small, "P": 4}).bound, name
    bound = attrs.evolve(
        compiled, critical_path=compiled.bound, contention=compiled.bound, upper=compiled.bound
    )
    at = {key: float(one) for key, one in bind(compiled.model, {"N": size, "P": 64}).items()}
    plainly, vector = compiled_function(bound), compiled_function(bound, "numpy")
    whole = compiled_function(compiled, "numpy")
    after, _ = timed(lambda: [plainly(**at) for _ in range(CALLS)])
    points = {**at, "P": 2.0 ** (np.arange(1000) % 7)}
    swept, all_swept = (each_call(one, points) for one in (vector, whole))
    scale = (size / small) ** power
    cells = (
        title, f"`{name}`", paper, f"{1e3 * (making + compiling):.0f} ms",
        f"{before:.2g} s at N = {small}", f"{before * scale:,.2g} s",
        f"{1e3 * after / CALLS:.2g} ms", f"{1e3 * swept:.2g} ms", f"{1e3 * all_swept:.2g} ms",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |", making + compiling


def table() -> Iterator[str]:
    """Yield the lines of table 3."""
    yield from ("## Table 3", "")
    yield (
        "| program | source | paper: A, CT [s], ST_1 [ks], ST_2 [ms] | generated and compiled "
        "| ST_1 here | ST_1 by growth | ST_2 here | 1,000 points | all four |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    total = 0.0
    for one in TABLE_3:
        line, taken = row(*one)
        total += taken
        yield line
    yield ""
    yield (
        f"All nine are generated and compiled in {total:.2f} s of CPU. ST_1 is a point of the "
        "formula without any simplification, measured at a small N, and as large as it would be "
        "at the paper's N, by how the loops grow; the paper's are of a Pentium II at 450 MHz. "
        "ST_2 is a call of the Python function of T^l at the paper's N and P = 64; the last "
        "columns are the NumPy function of T^l, and of all four quantities, at 1,000 values of P "
        "from 1 to 64: the contention of GAUSS as a whole is a maximum over processors."
    )


def main():
    """Write the page and its figures."""
    mpl.rcParams["svg.hashsalt"] = "parcast"
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "docs")
    compile_model(linked("scale"))  # what is made once, such as the parser, is not in the times
    lines = list(table())
    print("\n".join(lines))
    intro = (
        "Made by `uv run plugins/pamela/benchmarks/programs.py`. The sources stand in "
        "`parcast_pamela_compiler/sources`; `parcast pamela generate NAME.py` prints their models. "
        "The times of DAS I that the paper measured it does not print; here an operation takes "
        "30 ns, a local move 20 ns and a global one 100 ns (assumed), so that the shapes of the "
        "figures and the choices are to be compared, not the seconds."
    )
    pages = [line for one in FIGURES for line in figure(folder, *one)]
    (folder / "programs.md").write_text(
        "\n".join(["# Data-parallel programs", "", intro, "", *pages, *transpose(), *lines, ""])
    )


if __name__ == "__main__":
    main()
