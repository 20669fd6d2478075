"""How long the shipped models take to compile, and how fast their formulas are evaluated.

Compiling is compared with the same rules on SymPy's arithmetic, evaluation with SymPy's
``lambdify`` of the same closed forms, in the same run.

``uv run plugins/pamela/benchmarks/compiling.py``
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import sympy
from sympy.core.cache import clear_cache
from sympy_kernel import SympyKernel

import parcast_pamela
from parcast import Registry
from parcast_pamela.algebra.polynomials import BINDERS
from parcast_pamela.algebra.printing import SYMPY, atoms, text
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import QUANTITIES, compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import read_model

MODELS = (
    *("machine-repair", "unit-pipeline", "branching", "vector-chaining", "vector-sequence"),
    *("memory-banks", "adi-j", "adi-i", "apsp", "matmul", "gauss-cyclic", "gauss-block"),
    *("psrs", "psrs-improved", "t800-row8"),
)
LOOPS = ("matmul", "gauss-cyclic", "gauss-block", "psrs", "psrs-improved")  # on DAS I
#: Arrays as parameters, and gcd of arrays, that SymPy's functions do not take
WITHOUT_PEER = ("unit-pipeline", "memory-banks")
POINTS = (10_000, 200_000)


def best(call, repeat=5):
    """Return the least CPU seconds of several runs, none of which SymPy remembers."""
    times = []
    for _ in range(repeat):
        clear_cache()
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
    total, peer = 0.0, 0.0
    for name, model in models.items():
        seconds = best(lambda m=model: compile_model(m))
        other = best(lambda m=model: compile_model(m, kernel=SympyKernel()), 2)
        total, peer = total + seconds, peer + other
        print(f"{name:16} compiled in {1e3 * seconds:7.2f} ms, by SymPy {1e3 * other:7.1f} ms")
    print(
        f"{'all 15':16} compiled in {1e3 * total:7.2f} ms of CPU, by SymPy {1e3 * peer:7.1f} ms: "
        f"{peer / total:4.1f} times as fast\n"
    )
    for points in POINTS:
        for name in MODELS:
            if name not in WITHOUT_PEER:
                compare(name, models[name], points)


def compare(name, model, points):
    """Print how fast a formula is evaluated, beside lambdify."""
    compiled = compile_model(model)
    bound = bind(model, {"P": 4} if "P" in model.parameters else {})
    names = list(model.parameters)
    columns = {n: np.full(points, float(bound[n])) for n in names}
    # the contention of GAUSS is a maximum over processors, which SymPy's functions do not take
    closed = [
        q for q in QUANTITIES if not any(a.kind in BINDERS for a in atoms(getattr(compiled, q)))
    ]
    ours = compiled_function(compiled, "numpy", closed)
    symbols = {n: sympy.Symbol(n, nonnegative=True) for n in names}  # as the types say
    forms = [sympy.sympify(text(getattr(compiled, q), SYMPY), locals=symbols) for q in closed]
    theirs = sympy.lambdify(list(symbols.values()), forms, "numpy", cse=True)
    one, other = np.inf, np.inf
    for _ in range(10):  # by turns, so that both see the same machine
        one = min(one, best(lambda: ours(*columns.values()), 10))
        other = min(other, best(lambda: theirs(*columns.values()), 10))
    place = closed.index("bound")
    assert np.allclose(ours(**columns)[place], theirs(*columns.values())[place])
    print(
        f"{name:16} {1e9 * one / points:6.2f} ns a point of {points:,}, lambdify "
        f"{1e9 * other / points:6.2f} ns: {other / one:5.2f} times as fast"
    )


if __name__ == "__main__":
    main()
