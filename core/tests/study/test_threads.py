"""What many threads ask at once is what one alone is told, and no bad moment is kept."""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import random
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from parcast import Registry, Status
from parcast.errors import HostError, PassingError, PluginError, SolveError, is_passing
from parcast.plugins.entries import load
from parcast.quantities.expressions import parse
from parcast.testing import cases, check_threads, seeds

#: A package as a third party writes one, whose modules take their time to be imported.
PLUGIN = """
from parcast import FamilyEntry, PartEntry, Resource, SolverEntry, hookimpl

@hookimpl
def parcast_solvers():
    options = "{name}.solving:Options"
    yield SolverEntry("late.one", "phases", "{name}.solving:One", "Late.", options=options)
    yield SolverEntry("late.two", "phases", "{name}.solving:Two", "Late.")
    yield FamilyEntry("late", "{name}.solving:choose", "Late.")

@hookimpl
def parcast_parts():
    yield PartEntry("late", "{name}.parts:Late", "A part.")
"""
SOLVING = """
import time
time.sleep(0.2)
import attrs
from parcast import Prediction

@attrs.frozen(kw_only=True)
class Options:
    factor: float = 1.0

class One:
    def supports(self, query):
        return None

    def solve(self, query):
        (phase, *_) = query.workload.content.at(query)
        factor = query.options.factor if query.options else 1.0
        return Prediction(time=factor * phase.parallel / query.p + query.machine.parts["late"].more)

class Two(One):
    pass

time.sleep(0.2)

def choose(query):
    return "late.two" if query.p > 2 else "late.one"
"""
PARTS = """
import time
time.sleep(0.1)
import attrs

@attrs.frozen(kw_only=True)
class Late:
    more: float = 0.0
"""

MACHINE = {"name": "m", "processor": {"rate": 1}, "late": {"more": 0.5}}
WORKLOAD = {"name": "w", "parameters": {"n": 1}, "phase": [{"parallel": "7 * n"}]}

#: Of the packages that tests make: a name that another test had is imported already.
COUNT = itertools.count()


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """Return a function that makes a registry with a package nobody has imported yet."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def make():
        name = f"late_{os.getpid()}_{next(COUNT)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(PLUGIN.format(name=name))
        (tmp_path / name / "solving.py").write_text(SOLVING)
        (tmp_path / name / "parts.py").write_text(PARTS)
        importlib.invalidate_caches()
        return Registry([importlib.import_module(name)])

    return make


def test_what_another_thread_is_importing_is_waited_for(third_party):
    (module,) = third_party().sources
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(load, [f"{module.__name__}.solving:choose"] * 16))
    assert len(set(found)) == 1


def test_a_study_by_threads_gives_what_one_gives_alone(third_party, tmp_path):
    grid = {
        "workload": WORKLOAD, "machine": MACHINE, "solver": ["late", "late.one"],
        "p": "1..64", "set": {"n": [1, 2], "late.one.factor": [1.0, 3.0]},
    }  # fmt: skip
    many = third_party().study(grid, executor="threads:16", cache=tmp_path / "many")
    alone = third_party().study(grid, executor="threads:1", cache=None)
    times = [
        [(row.solver, row.p, row.time, row.status) for row in one.rows] for one in (many, alone)
    ]
    assert {row.status for row in many.rows} == {Status.OK}
    assert times[0] == times[1]


def test_one_registry_is_asked_by_threads_and_by_asyncio(third_party):
    registry = third_party()

    async def ask():
        loop = asyncio.get_running_loop()
        asked = [partial(registry.compare, WORKLOAD, MACHINE, p=[p]) for p in range(1, 33)]
        return await asyncio.gather(*(loop.run_in_executor(None, one) for one in asked))

    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may have a loop in this one
        answers = thread.submit(asyncio.run, ask()).result()
    times = [results.rows[0].time for results in answers]
    assert times == [pytest.approx(7 / p + 0.5) for p in range(1, 33)]


def test_threads_keep_the_filters_of_warnings():
    before = list(warnings.filters)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(parse, [f"{n} * p + sqrt({n})" for n in range(4000)]))
    assert list(warnings.filters) == before


CAUSES = {
    "import": "import not_there_at_all",
    "memory": "raise MemoryError('no memory')",
    "file": "open('/no/such/file')",
    "run": "raise PassingError('the run was killed')",
    "executor": "raise BrokenExecutor('broken')",
}
SICK = """
import os
from concurrent.futures import BrokenExecutor
from parcast import Prediction, SolverEntry, hookimpl
from parcast.errors import PassingError

def ail(where):
    if os.environ.get("SICK") == where:
        CAUSE

class One:
    def supports(self, query):
        ail("supports" if query.p > 1 else "")
        return None

    def solve(self, query):
        ail("point" if query.p > 1 else "reference")
        return Prediction(time=8 / query.p)

@hookimpl
def parcast_solvers():
    yield SolverEntry("sick", "phases", f"{__name__}:One", "")
"""


@pytest.mark.parametrize("where", ["point", "reference", "supports"])
@pytest.mark.parametrize("cause", CAUSES)
def test_a_failure_by_the_host_is_shown_and_not_kept(tmp_path, monkeypatch, cause, where):
    name = f"sick_{cause}_{where}"
    (tmp_path / f"{name}.py").write_text(SICK.replace("CAUSE", CAUSES[cause]))
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry([importlib.import_module(name)])
    grid = {"workload": WORKLOAD, "machine": {"processor": {"rate": 1}}, "solver": "sick"}
    ask = partial(
        registry.study, {**grid, "p": [2, 4, 8]}, executor="threads:1", cache=tmp_path / "cache"
    )
    monkeypatch.setenv("SICK", where)
    for row in ask().rows:
        assert "passing" in row.details
        assert row.speedup is None
        assert where == "reference" or row.status is not Status.OK
    monkeypatch.delenv("SICK")
    assert [row.speedup for row in ask().rows] == [2, 4, 8]


def test_a_failure_of_the_method_is_kept(make_registry, workload, machine, tmp_path):
    grid = {"workload": workload, "machine": machine, "solver": "bug.one", "p": [1, 2]}
    results = make_registry("bug").study(grid, executor="threads:1", cache=tmp_path)
    assert {row.status for row in results.rows} == {Status.FAILED}
    assert list(tmp_path.rglob("*.json"))


def test_what_passes_is_told_by_the_chain_of_causes():
    def raised(error, cause):
        try:
            try:
                raise cause
            except type(cause):
                raise error from None
        except type(error) as found:
            return found

    assert is_passing(raised(SolveError("x"), OSError(28, "full")))
    assert is_passing(HostError("x"))
    assert is_passing(PassingError("x"))
    assert is_passing(PluginError("x"))
    assert not is_passing(raised(SolveError("x"), ValueError("y")))


@pytest.mark.parametrize("seed", seeds(cases(3)))
def test_any_questions_from_many_threads(third_party, seed):
    """Draw questions, ask them alone and then from many threads of a registry nobody asked."""
    drawn = random.Random(seed)
    questions = [
        {
            "workload": WORKLOAD,
            "machine": MACHINE,
            "p": drawn.randint(1, 40),
            "solvers": drawn.choice(["late", "late.one", "late.two"]),
            "settings": drawn.choice([{}, {"n": drawn.randint(1, 9)}, {"late.more": 2}]),
            "seed": drawn.randrange(3),
        }
        for _ in range(24)
    ]
    check_threads(third_party, questions, threads=drawn.choice([2, 8, 24]))
