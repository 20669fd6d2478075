"""Writes docs/case-studies.md: each case study of the paper as model, formula and plot.

``uv run plugins/pamela/benchmarks/case_studies.py [DIRECTORY]``
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

import parcast_pamela
from parcast import Registry
from parcast.quantities.units import format_seconds
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import read_model
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run
from parcast_pamela.sweeping import plot_sweep, simulate_points, sweep_model

WORKLOADS = Registry([parcast_pamela]).workloads
POWERS = [2**k for k in range(6)]
#: Section, title, model, machine, the parameter that is swept, its values, and other parameters
STUDIES = (
    ("2", "Machine repair", "machine-repair", None, "P", [1, 2, 4, 6, 8, 10, 12, 16, 24, 32], {}),
    ("3.1", "Pipeline", "unit-pipeline", None, "N", POWERS, {}),
    ("3.2", "Branching", "branching", None, "N", POWERS, {}),
    ("3.3", "A vector on one unit", "vector-scale", "vec-sequential", "N", POWERS, {}),
    ("3.3", "A vector on a pipeline", "vector-scale", "vec-pipeline", "N", POWERS, {}),
    ("3.3", "A vector on a unit for each element", "vector-scale", "vec-parallel", "N", POWERS, {}),
    ("3.4", "Vector operations in sequence", "vector-sequence", None, "N", POWERS, {}),
    ("3.4", "Vector operations chained", "vector-chaining", None, "N", POWERS, {}),
    ("3.5", "Memory banks", "memory-banks", None, "S", list(range(1, 17)), {"N": 200}),
    ("3.6", "Partitioning by columns", "adi-j", None, "P", POWERS, {"N": 96}),
    ("3.6", "Partitioning by rows", "adi-i", None, "P", POWERS, {"N": 96}),
    ("3.8", "All pairs shortest path", "apsp", None, "P", [1, 2, 4, 8, 16, 32, 48, 96], {"N": 96}),
)
#: Transfers of table 1, and T, T^l and T^t of the paper
TABLE_1 = (
    ("(0,1)", "0.9, 0.9, 0.9"),
    ("(0,2)", "1.5, 1.5, 1.5"),
    ("(0,1)^2", "1.8, 1.8, 0.9"),
    ("(0,2)^2", "3.0, 3.0, 1.5"),
    ("(0,1) and (0,2)", "1.8, 1.8, 1.5"),
    ("(0,1)^2 and (0,2)", "2.7, 2.7, 1.5"),
    ("(0,1) and (0,2)^2", "3.3, 3.0, 1.5"),
    ("(0,1)^3 and (0,2)^3", "5.4, 5.4, 1.5"),
)


def model_of(name, machine=None):
    """Return a shipped model."""
    return read_model(Path(str(WORKLOADS[name].path)), machine)


def study(folder, section, title, name, machine, over, numbers, given) -> Iterator[str]:
    """Yield the lines of one case study, and draw its plot."""
    compiled = compile_model(model_of(name, machine))
    rows = simulate_points(compiled, sweep_model(compiled, over, numbers, given), given)
    plot = f"{machine or name}.svg"
    plot_sweep(rows, title, folder / plot)
    text = Path(str(WORKLOADS[name].path)).read_text()
    code = [line for line in text.splitlines() if line and not line.startswith("//")]
    yield from (f"## {title} (section {section})", "", "```", *code, "```", "")
    yield f"- `{name}`{f' with --machine-model {machine}' if machine else ''}"
    yield f"- T^l = `{compiled.bound!r}`"
    yield f"- T^u = `{compiled.upper!r}`"
    worst = max(row.simulated / row.bound for row in rows)
    yield f"- T by simulation, FIFO, is at most {worst:.3f} times T^l in the plot"
    yield from ("", f"![{title}]({plot})", "")


def table_1(folder) -> Iterator[str]:
    """Yield table 1: T by simulation, T^l, and T^t by transfers without contention; draw it."""
    found = []
    yield "## Transfers on a line of transputers (section 3.7, table 1)"
    yield ""
    yield "Transfers of 1 MB at once, in seconds; an exponent says how many of the kind."
    yield ""
    yield "| transfers | paper: T, T^l, T^t | T | T^l | T^t |"
    yield "|---|---|---|---|---|"
    for row, (transfers, published) in enumerate(TABLE_1, 1):
        model = model_of(f"t800-row{row}")
        bound = float(compile_model(model).values({}).bound)
        alone = float(compile_model(model, transfers="move").values({}).critical_path)
        time = run(unfold(model, {})).time
        found.append((transfers, time, bound, alone, float(published.partition(",")[0])))
        yield f"| {transfers} | {published} | {time:.3f} | {bound:.3f} | {alone:.3f} |"
    draw_table_1(found, folder / "t800.svg")
    yield from ("", "![Transfers of table 1](t800.svg)", "")
    yield "T of the seventh row depends on arbitration: 3.017 by FIFO here, 3.3 in the paper."
    yield ""


def draw_table_1(found, path) -> None:
    """Draw the times of each row of table 1."""
    transfers, simulated, bound, alone, published = zip(*found, strict=True)
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(published, transfers, "x", markersize=10, color="0.4", label="T, paper")
    axes.plot(simulated, transfers, "o", color="black", label="T, simulated")
    axes.plot(bound, transfers, "|", markersize=16, markeredgewidth=3, label="lower bound T^l")
    axes.plot(alone, transfers, "|", markersize=16, label="without contention T^t")
    axes.invert_yaxis()
    axes.set(xlabel="time [s]", xlim=(0, None), title="Transfers of 1 MB")
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def timed(call, repeat=1):
    """Return CPU seconds of one of some calls, and the last result."""
    start = time.process_time()
    results = [call() for _ in range(repeat)]
    return (time.process_time() - start) / repeat, results[-1]


def costs() -> Iterator[str]:
    """Yield what each study's last point costs before and after simplification."""
    yield "## Cost"
    yield ""
    yield "CPU times of compiling and of one point of all four formulas, at the last point of each"
    yield "plot: ST_1 is every loop of the formulas gone through, ST_2 the simplified formulas as a"
    yield "Python function. The prediction ratio is the time that is predicted, divided by that of"
    yield "compiling and of one point; the next point takes ST_2 alone. `programs.md` has both for"
    yield "the programs of section 4, `graphs.md` for macro data flow graphs."
    yield ""
    yield "| model | at | compiling | ST_1 | ST_2 | ST_1 / ST_2 | T^l | prediction ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for _, _, name, machine, over, numbers, given in STUDIES:
        point = {**given, over: numbers[-1]}
        model = model_of(name, machine)
        compiling, compiled = timed(lambda m=model: compile_model(m), 10)
        plain = compile_model(model, simplify=False)
        before, expected = timed(lambda f=plain, p=point: f.values(p))
        bound = {n: _number(one) for n, one in bind(model, point).items()}
        function = compiled_function(compiled)
        after, found = timed(lambda f=function, b=bound: f(**b), 2000)
        assert abs(found[2] / float(expected.bound) - 1) < 1e-9, name
        time_ = float(expected.bound)
        cells = [
            f"{name}{f', {machine}' if machine else ''}",
            ", ".join(f"{n} = {one}" for n, one in point.items()),
            *map(format_seconds, (compiling, before, after)),
            f"{before / after:,.0f}",
            format_seconds(time_),
            f"{time_ / (compiling + after):,.3g}".replace("e+0", "e"),
        ]
        yield f"| {' | '.join(cells)} |"


def _number(one):
    if hasattr(one, "at"):  # an array
        return [float(value) for value in one.items]
    return one if isinstance(one, int) else float(one)


def main():
    """Write the page and its plots."""
    folder = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent.parent / "docs")
    lines = [
        "# Case studies",
        "",
        "Made by `uv run plugins/pamela/benchmarks/case_studies.py`.",
        "",
    ]
    for one in STUDIES:
        lines += study(folder, *one)
        print(one[2], flush=True)
    lines += [*table_1(folder), *costs()]
    (folder / "case-studies.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
