"""Writes docs/graphs.md: macro data flow graphs of section 3.7, as many as the paper's table 2.

The paper's graphs are not published. These are drawn by its recipe: 100 tasks of 0.06 to 6.1 s on
a mesh of 4 by 4, messages of 10 kB to 1 MB; how many are at once decides the contention.

``uv run plugins/pamela/benchmarks/graphs.py [DIRECTORY]``, or ``... NUMBER`` to print one model
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

from parcast_pamela.codegen.sources import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import model_of
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run

TASKS, PROCESSORS = 100, 16
#: Mean number of arms at once, tasks of an arm, and seed, from much contention to little
GRAPHS = (
    *((60, 1, 1), (60, 1, 2), (16, 6, 2), (24, 2, 2), (12, 5, 1), (24, 3, 1), (8, 5, 2)),
    *((16, 3, 1), (6, 6, 2), (8, 5, 1), (3, 8, 2), (6, 6, 1), (1.5, 8, 1), (1.2, 8, 1)),
)
#: T^m, T, theta, alpha and T^t of G1 to G14 in the paper
PUBLISHED = (
    (118.7, 114.7, 1.08, 0.73, 25.9), (93.9, 92.5, 0.85, 0.62, 21.2),
    (95.6, 92.8, 0.76, 0.68, 25.8), (94.1, 87.4, 0.37, 0.70, 31.5),
    (73.4, 70.9, 0.27, 0.66, 30.3), (105.8, 103.9, -0.19, 0.55, 58.3),
    (98.4, 87.0, -0.28, 0.60, 47.4), (89.2, 87.1, -0.35, 0.68, 52.5),
    (87.6, 84.4, -0.73, 0.78, 65.7), (109.5, 106.4, -0.91, 0.75, 79.5),
    (141.2, 138.4, -1.23, 0.80, 107.6), (149.5, 144.8, -1.51, 0.87, 125.0),
    (165.9, 163.2, -1.62, 0.86, 140.2), (172.3, 171.0, -1.70, 0.96, 165.4),
)  # fmt: skip
HEAD = """import "mesh-routing"
param c : real >= 0 = 1, m : real >= 0 = 1
let X = 4
let Y = 4
let packet = 120
let tf = 181 us*m
let tx = 108 us*m
resource cpu[0..15]
task(p, w) = use(cpu[p], w*c)
"""


def graph(width, length, seed):
    """Return a model: tasks in series and parallel, all on processors at random."""
    draw = random.Random(seed)  # noqa: S311  (drawn anew in each run)

    def task(place):
        return f"task({place}, {draw.uniform(0.06, 6.1):.2f} s)"

    def move(start, end):
        size = draw.uniform(10, 1000)
        return [] if start == end else [f"move({start}, {end}, {size:.0f} kB)"]

    def series(count, at):
        """Return so many tasks after what is at a processor, and where the last one is."""
        parts = []
        while count:
            wide = min(count - 1, round(draw.expovariate(1 / width)))
            inside = min(count - 1, wide * length) if wide > 1 else 0
            after = draw.randrange(PROCESSORS)
            if inside:
                arms = [series(own, at) for own in shares(inside, wide)]
                texts = [" ; ".join([*arm, *move(end, after)]) for arm, end in arms]
                parts.append("{ " + "\n   || ".join(f"{{ {one} }}" for one in texts) + " }")
            else:
                parts += move(at, after)
            parts.append(task(after))
            count, at = count - inside - 1, after
        return parts, at

    def shares(count, among):
        cuts = sorted(draw.sample(range(1, count), among - 1))
        return [end - start for start, end in zip([0, *cuts], [*cuts, count], strict=True)]

    first = draw.randrange(PROCESSORS)
    parts, _ = series(TASKS - 1, first)
    return HEAD + "L = " + " ;\n    ".join([task(first), *parts]) + "\n"


def timed(call):
    """Return CPU seconds and result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def study(width, length, seed):
    """Return what table 2 has of a graph, in seconds, and what it cost."""
    model = model_of(graph(width, length, seed))
    compiling, compiled = timed(lambda: compile_model(model))
    values = compiled.values({})
    alone = compile_model(model, transfers="move").values({})
    simulating, simulated = timed(lambda: run(unfold(model, {})))
    function = compiled_function(compiled)
    solving = timed(lambda: [function(c=1.0, m=1.0) for _ in range(1000)])[0] / 1000
    return {
        "T": simulated.time,
        "theta": alone.theta,
        "bound": float(values.bound),
        "upper": float(values.upper),
        "alone": float(alone.critical_path),
        "compiling": compiling,
        "simulating": simulating,
        "solving": solving,
        "formula": repr(compiled.bound),
    }


def table(rows):
    """Yield the lines of the table, the paper's values beside."""
    yield "| G | T | theta | T^l | alpha | T^t | T^u | paper: T, theta, alpha, T^t |"
    yield "|---|---|---|---|---|---|---|---|"
    for number, (row, paper) in enumerate(zip(rows, PUBLISHED, strict=True), 1):
        _, *shown = paper
        yield (
            f"| {number} | {row['T']:.1f} | {row['theta']:.2f} | {row['bound']:.1f} | "
            f"{row['bound'] / row['T']:.2f} | {row['alone']:.1f} | {row['upper']:.1f} | "
            f"{', '.join(map(str, shown))} |"
        )


def span(rows, name, factor, shown):
    """Return the least and the most of a column."""
    values = [factor * row[name] for row in rows]
    return f"{min(values):{shown}} to {max(values):{shown}}"


def plot(rows, path):
    """Draw T, T^l and T^t by graph, and alpha over theta beside the paper's."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    numbers = range(1, len(rows) + 1)
    for name, label, style in (
        ("T", "T, simulated", "ko"), ("bound", "lower bound", "C0-"),
        ("alone", "without contention", "C2--"),
    ):  # fmt: skip
        left.plot(numbers, [row[name] for row in rows], style, label=label)
    left.set(xlabel="graph", ylabel="time [s]", ylim=(0, None), xticks=list(numbers))
    left.legend()
    alphas = [row["bound"] / row["T"] for row in rows]
    right.plot([row["theta"] for row in rows], alphas, "C0o", label="here")
    right.plot([p[2] for p in PUBLISHED], [p[3] for p in PUBLISHED], "kx", label="paper, table 2")
    right.set(xlabel="contention index theta", ylabel="lower bound / T", ylim=(0, 1.05))
    right.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def main():
    """Write the page and its plot, or print one model."""
    if sys.argv[1:] and sys.argv[1].isdecimal():
        print(graph(*GRAPHS[int(sys.argv[1]) - 1]), end="")
        return
    folder = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parent.parent / "docs")
    run(unfold(model_of("resource s\nL = use(s, 1)"), {}))  # compile the kernel
    rows = [study(*one) for one in GRAPHS]
    plot(rows, folder / "graphs.svg")
    alphas = [row["bound"] / row["T"] for row in rows]
    shortest = min(rows, key=lambda row: len(row["formula"]))
    ratios = [row["T"] / (row["compiling"] + row["solving"]) for row in rows]
    lines = [
        "# Macro data flow graphs (section 3.7, table 2)",
        "",
        "Made by `uv run plugins/pamela/benchmarks/graphs.py`.",
        "",
        *__doc__.strip().split("\n\n")[1].splitlines(),
        "T^t is the latency/bandwidth model: the critical path, each transfer by itself; theta is",
        "ln(omega / T^t), as in the paper. T is by simulation, FIFO; times in seconds.",
        "`graphs.py 3` prints the model of the third, which is shipped as `fem-graph`.",
        "",
        *table(rows),
        "",
        "![T, T^l and T^t of 14 graphs, and alpha over theta](graphs.svg)",
        "",
        f"T^l/T is {min(alphas):.2f} to {max(alphas):.2f}, {sum(alphas) / len(alphas):.2f} on",
        "average (the paper: 0.55 to 0.96, 0.73 on average).",
        "",
        "A formula is one of `c`, the time of computing relative to the T800's, and `m`, that of",
        f"moving; the shortest of the 14, that of graph {rows.index(shortest) + 1}:",
        "",
        "```",
        shortest["formula"],
        "```",
        "",
        f"A graph is compiled in {span(rows, 'compiling', 1, '.1f')} CPU s and simulated in",
        f"{span(rows, 'simulating', 1, '.1f')}; a point of its four formulas takes",
        f"{span(rows, 'solving', 1e6, '.0f')} us. The prediction ratio, the time that is predicted",
        f"by that of compiling and of one point, is {min(ratios):.0f} to {max(ratios):.0f}.",
    ]
    (folder / "graphs.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
