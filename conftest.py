"""How all tests run: bytecode shared by all processes, long files first, programs of the day."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from parcast.testing import cases, first_seed

#: Files with a test of many seconds, most of them those that first compile a family's kernels.
LONG = frozenset({
    "core/tests/study/test_killed.py",
    "plugins/dask/tests/test_studies.py",
    "plugins/emulator/tests/test_programs.py",
    "plugins/emulator/tests/test_properties.py",
    "plugins/fit/tests/test_recovery.py",
    "plugins/mpi/tests/test_measure.py",
    "plugins/mpi/tests/test_run.py",
    "plugins/pamela/tests/test_conformance.py",
    "plugins/pamela/tests/test_nests.py",
    "plugins/pamela/tests/test_soundness.py",
    "plugins/perturb/tests/test_machines.py",
    "plugins/petri/tests/test_age.py",
    "plugins/petri/tests/test_closed_law.py",
    "plugins/score/tests/test_command.py",
    "plugins/spmd/tests/test_compilation.py",
    "tests/agreement/test_hpcc.py",
    "tests/agreement/test_measured_host.py",
    "tests/agreement/test_threads.py",
    "tests/test_notebooks.py",
    "tests/test_pages.py",
})  # fmt: skip

# Workers state the width of a terminal that they do not have: lines would be cut to it
os.environ.pop("COLUMNS", None)

# Examples differ widely in cost, and the host may be busy
settings.register_profile(
    "parcast",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=cases(12),
)
settings.load_profile("parcast")

# As many tests run at once as there are cores: a second thread of each would wait for a core.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Where Python is told to write no bytecode, each of the hundreds of processes that tests start
# would compile all modules anew, which takes longer than most of them run.
if sys.dont_write_bytecode:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parent / ".pytest_cache" / "bytecode")
    sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

# To write over a file takes milliseconds on many disks, and tests do so thousands of times. So they
# write to memory where there is enough of it, and where programs that they compile there may run.
MEMORY = Path("/dev/shm")  # noqa: S108
if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and "TMPDIR" not in os.environ:
    state = os.statvfs(MEMORY)
    if state.f_bavail * state.f_frsize > 2**31 and not state.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

#: Whether this process imports the tests from the last file on. Of two each compiles half of them
#: then, where a fresh clone has none, and finds the other half.
BACKWARD = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"


def pytest_configure(config: pytest.Config) -> None:
    """Give every process of this run the same cases by chance, past midnight too."""
    os.environ.setdefault("PARCAST_SEED", str(first_seed()))
    if BACKWARD:
        config.args.reverse()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Go through folders from their ends, in every second process."""
    report = yield
    if BACKWARD and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files, so that none is left alone on its core at the end."""

    def place(item: pytest.Item) -> tuple[bool, str]:
        file = item.nodeid.partition("::")[0]
        return file not in LONG, file

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage before all tests are there, and less than usual from then on.

    What is made until then stays to the end: to go over it again and again takes two seconds in a
    fresh clone. Compiling a kernel makes so much that every 700 objects were gone over.
    """
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish() -> None:
    """Collect what is unreachable once; pytest does so five times, over all that is there."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell how the cases of a failure are run again."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        first = os.environ["PARCAST_SEED"]
        terminalreporter.write_line(f"PARCAST_SEED={first} runs the same cases by chance again")


@pytest.fixture(scope="session")
def graphviz() -> None:
    """Skip where there is no Graphviz to draw a graph."""
    if shutil.which("dot") is None:
        assert not os.environ.get("CI"), "CI installs graphviz"
        pytest.skip("needs Graphviz's program dot")
