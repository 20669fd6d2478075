"""What a point costs before and after simplification, ST_1 and ST_2 of the paper's table 3.

``uv run plugins/pamela/benchmarks/solving.py``
"""

from __future__ import annotations

import time
from pathlib import Path

import parcast_pamela
from parcast import Registry
from parcast_pamela.bindings import bind
from parcast_pamela.codegen.sources import compiled_function
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import read_model

#: Model, machine, and N and P; the paper has larger N, which ST_1 grows with as N^2 or N^3
POINTS = (
    ("matmul", "das1", 32, 4),
    ("adi-j", None, 64, 4),
    ("gauss-cyclic", "das1", 32, 4),
    ("gauss-block", "das1", 32, 4),
    ("psrs", "das1", 4096, 4),
)
CALLS = 1000


def timed(call):
    """Return CPU seconds and result."""
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def main():
    """Print compile and solution times, and how many points repay the compiling."""
    workloads = Registry([parcast_pamela]).workloads
    print(f"{'model':14}{'compile ms':>12}{'ST_1 ms':>12}{'ST_2 us':>12}{'ST_1/ST_2':>12}")
    for name, machine, size, processes in POINTS:
        model = read_model(Path(str(workloads[name].path)), machine)
        given = {"N": size, "P": processes}
        compiling, compiled = timed(lambda m=model: compile_model(m))
        plain = compile_model(model, simplify=False)
        first, expected = timed(lambda c=plain, g=given: c.values(g))
        function = compiled_function(compiled)
        bound = {
            n: one if isinstance(one, int) else float(one) for n, one in bind(model, given).items()
        }
        second, found = timed(lambda f=function, b=bound: [f(**b) for _ in range(CALLS)][-1])
        assert abs(float(found[2]) / float(expected.bound) - 1) < 1e-9, name
        each = second / CALLS
        print(
            f"{name:14}{1e3 * compiling:12.1f}{1e3 * first:12.1f}{1e6 * each:12.2f}"
            f"{first / each:12,.0f}"
        )


if __name__ == "__main__":
    main()
