"""All families from many threads at once, none of them imported yet, and then alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from parcast.testing import cases, seeds

ASKING = """
import random, sys
from parcast import Registry
from parcast.testing import check_threads

drawn = random.Random(int(sys.argv[1]))
programs = ["stencil2d", "ring-matmul", "btio", "qcrd-like"]
questions = [
    {
        "workload": drawn.choice(programs),
        "machine": drawn.choice(["ibm-sp2", "intel-paragon"]),
        "p": [drawn.choice([1, 2, 4, 9, 16])],
        "settings": {"network.startup": drawn.choice(["10 us", "46 us"])},
        "seed": drawn.randrange(3),
    }
    for _ in range(int(sys.argv[2]))
]
check_threads(Registry, questions, threads=drawn.choice([2, 4, 8]))
"""


@pytest.mark.parametrize("seed", seeds(cases(1)))
def test_families_asked_from_threads_answer_as_alone(seed: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ASKING, str(seed), "8"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
