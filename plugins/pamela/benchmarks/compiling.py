"""How long the shipped models take to compile, and how fast their formulas are evaluated.

Evaluation is compared with SymPy's ``lambdify`` of the same closed forms in the same run.

``uv run plugins/pamela/benchmarks/compiling.py``
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import sympy

import parcast_pamela
from parcast import Registry
from parcast_pamela.algebra.printing import SYMPY, text
from parcast_pamela.bindings import bind
from parcast_pamela.codegen import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import read_model

MODELS = (
    *("machine-repair", "unit-pipeline", "branching", "vector-chaining", "vector-sequence"),
    *("memory-banks", "adi-j", "adi-i", "apsp", "matmul", "gauss-cyclic", "gauss-block"),
    *("psrs", "psrs-improved", "t800-row8"),
)
LOOPS = ("matmul", "gauss-cyclic", "gauss-block", "psrs", "psrs-improved")  # on DAS I
POINTS = 200_000


def best(call, repeat=5):
    """Return the least CPU seconds of several runs."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main():
    """Print the comparison."""
    registry = Registry([parcast_pamela])
    models = {
        n: read_model(Path(str(registry.workloads[n].path)), "das1" if n in LOOPS else None)
        for n in MODELS
    }
    total = 0.0
    for name, model in models.items():
        seconds = best(lambda m=model: compile_model(m))
        total += seconds
        print(f"{name:16} compiled in {1e3 * seconds:7.2f} ms")
    print(f"{'all 15':16} compiled in {1e3 * total:7.2f} ms of CPU\n")
    for name in ("machine-repair", "vector-chaining", "apsp", "adi-j", "matmul"):
        compare(name, models[name])


def compare(name, model):
    """Print how fast a formula is evaluated, beside lambdify."""
    compiled = compile_model(model)
    bound = bind(model, {"P": 4} if "P" in model.parameters else {})
    names = list(model.parameters)
    columns = {n: np.full(POINTS, float(bound[n])) for n in names}
    ours = compiled_function(compiled, "numpy")
    symbols = {n: sympy.Symbol(n, positive=True) for n in names}
    forms = [
        sympy.sympify(text(getattr(compiled, q), SYMPY), locals=symbols)
        for q in ("critical_path", "contention", "bound", "upper")
    ]
    theirs = sympy.lambdify(list(symbols.values()), forms, "numpy", cse=True)
    one = best(lambda: ours(**columns))
    other = best(lambda: theirs(*columns.values()))
    assert np.allclose(ours(**columns)[2], theirs(*columns.values())[2])
    print(
        f"{name:16} {1e9 * one / POINTS:6.2f} ns a point, lambdify {1e9 * other / POINTS:6.2f} ns: "
        f"{other / one:5.2f} times as fast"
    )


if __name__ == "__main__":
    main()
