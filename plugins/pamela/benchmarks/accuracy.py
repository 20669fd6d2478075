"""How far T^l lies below T: figures 2 and 3 of the paper.

``uv run plugins/pamela/benchmarks/accuracy.py [DIRECTORY]`` draws the figures there; the means
by theta that it prints are those of `parcast_pamela.solvers.accuracy.ALPHA`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from random_tasks import random_model

from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import model_of
from parcast_pamela.simulation.program import unfold
from parcast_pamela.simulation.running import run

MODELS, WIDTH = 1000, 0.25
MRM = """
param P : int >= 1, N : int >= 1
resource s
L = par (p = 1, P) seq (i = 1, N) { delay(9) ; use(s, 1) }
"""


def figure_3():
    """Return theta and T^l/T of random models."""
    draw = np.random.default_rng(0)
    points = []
    for _ in range(MODELS):
        one = random_model(draw)
        points.append((one.theta, one.bound / run(one.simulation).time))
    return np.array(points).T


def calibration(theta, alpha):
    """Return the mean of alpha near each theta."""
    edges = np.arange(-2, 2 + WIDTH / 2, WIDTH)
    near = [np.abs(theta - edge) <= WIDTH / 2 for edge in edges]
    return [(float(e), round(float(alpha[n].mean()), 3)) for e, n in zip(edges, near, strict=True)]


def figure_2():
    """Return P, and T^l and T of the machine repair model for one cycle and for many."""
    model = model_of(MRM)
    bound = compile_model(model)
    clients = [*range(1, 41)]
    found = {}
    for cycles in (1, 1000):
        time = [run(unfold(model, {"P": p, "N": cycles})).time / cycles for p in clients]
        found[cycles] = time
    lower = [float(bound.values({"P": p, "N": 1000}).bound) / 1000 for p in clients]
    return clients, lower, found


def main():
    """Print the tables, and draw the figures if there is somewhere to."""
    theta, alpha = figure_3()
    for edge, mean in calibration(theta, alpha):
        print(f"({edge}, {mean}),", end=" ")
    near = alpha[np.abs(theta) < 0.1]
    print(f"\n{len(near)} models of |theta| < 0.1: mean {near.mean():.3f}, least {near.min():.3f}")
    clients, lower, found = figure_2()
    for cycles, time in found.items():
        print(f"machine repair, N = {cycles}: T^l/T at P = 10 is {lower[9] / time[9]:.3f}")
    if sys.argv[1:]:
        draw_figures(Path(sys.argv[1]), theta, alpha, (clients, lower, found))


def draw_figures(folder, theta, alpha, repair):
    """Write both figures."""
    clients, lower, found = repair
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(clients, lower, "k--", label="lower bound, for each cycle")
    for cycles, time in found.items():
        axes.plot(clients, time, label=f"simulated, {cycles} cycle{'s' * (cycles > 1)}")
    axes.set(xlabel="P", ylabel="time for each cycle [s]")
    axes.legend()
    figure.savefig(folder / "machine-repair-accuracy.svg", metadata={"Date": None})
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(theta, alpha, ".", markersize=2, rasterized=True)  # a small file
    axes.plot(*zip(*calibration(theta, alpha), strict=True), "k", label="mean")
    axes.set(xlabel=r"$\theta = \ln(\omega/\varphi)$", ylabel="$T^l/T$", xlim=(-2, 2), ylim=(0, 1))
    axes.legend()
    figure.savefig(folder / "random-models.svg", metadata={"Date": None}, dpi=150)


if __name__ == "__main__":
    main()
