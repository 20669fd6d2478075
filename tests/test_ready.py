"""What small questions wait for where nothing is compiled yet, and what they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parcast.testing import turn

COMPILING = """
import sys
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
from parcast.cli import main
code = main(sys.argv[1:])
print(code, *compiled, file=sys.stderr)
"""


def asked(cache: Path, *words: str) -> list[str]:
    """Return the exit code of a command, and what it compiled, with this cache of kernels."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", COMPILING, *words]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return ran.stderr.splitlines()[-1].split()


#: Each is asked in a process of its own: what a process has asked before counts.
QUESTIONS = (
    "compare stencil2d ibm-sp2 -p 6",
    "compare stencil2d fat-tree-hdr -p 8",
    "compare checkpointing-stencil ibm-sp2 -p 4",
    "compare btio ibm-sp2 -p 4",
    "compare matmul das1 -p 4",
    "advise ring-matmul ibm-sp2 -p 8",
    "predict ring-matmul four-workstations -s petri.mean -p 3",
    "predict vector-chaining ibm-sp2 -s pamela.sim -p 2",
)


@pytest.mark.parametrize("question", turn(QUESTIONS, 4))
def test_small_questions_compile_nothing_where_nothing_is_cached(question, tmp_path):
    assert asked(tmp_path, *question.split()) == ["0"]
    assert not any(tmp_path.iterdir())
