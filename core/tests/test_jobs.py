"""Jobs at once: their names, processes, nodes and parameters, and who takes them."""

from __future__ import annotations

import sys
from collections import Counter
from random import Random
from types import ModuleType

import attrs
import pytest

from parcast import (
    InvalidPointError,
    Prediction,
    Query,
    Registry,
    SolverEntry,
    Status,
    hookimpl,
)
from parcast.comparison.job_placement import node_of_each
from parcast.errors import ParcastError, UnknownNameError
from parcast.model import Job
from parcast.plugins import JOBS
from parcast.program import job_times

RING = """
def program(rank, size, n=8):
    compute(n)
    sendrecv((rank + 1) % size, n, (rank - 1) % size)
"""
STAR = """
def program(rank, size, n=2):
    start()
    gather(n)
"""
POOL = """
def program(rank, size):
    for task in pool(range(4)):
        compute(8)
"""


class Counted:
    """A process takes a second for each of its operations, two more where jobs are together."""

    def supports(self, query):
        return None

    def solve(self, query):
        several = bool(query.workload.jobs)
        ends = [
            len(listed) + 2.0 * several for listed in query.workload.content.at(query).by_rank()
        ]
        jobs = job_times(query, ends, [0.5 * several] * query.p)
        return Prediction(time=max(ends), details={"jobs": jobs} if jobs else {})


@pytest.fixture
def registry(monkeypatch, tmp_path):
    module = ModuleType("parcast_counted")
    module.Counted = Counted
    entries = [
        SolverEntry("counted.jobs", "program", "parcast_counted:Counted", "s", follows=(JOBS,)),
        SolverEntry("single", "program", "parcast_counted:Counted", "s"),
    ]
    module.parcast_solvers = hookimpl(lambda: entries)
    module.parcast_solvers.__name__ = "parcast_solvers"
    monkeypatch.setitem(sys.modules, "parcast_counted", module)
    monkeypatch.chdir(tmp_path)
    for name, source in {"ring": RING, "star": STAR, "pool": POOL}.items():
        (tmp_path / f"{name}.py").write_text(source)
    return Registry([module])


MACHINE = {"name": "m", "processor": {"rate": 1}, "nodes": {"count": 8, "cores": 2}}


def compare(registry, workload="ring.py+star.py", machine=MACHINE, **question):
    return registry.compare(workload, machine, **{"p": "4+4", **question})


def test_a_row_has_the_time_of_each_job_together_and_alone(registry):
    (row,) = compare(registry).rows
    assert (row.workload, row.p, row.solver) == ("ring+star", 8, "counted.jobs")
    assert row.speedup is None
    assert row.mapping == (0, 0, 1, 1, 2, 2, 3, 3)
    assert list(row.details["jobs"]) == ["ring", "star"]
    ring = row.details["jobs"]["ring"]
    assert ring == {
        "processes": 4, "time": 3.5, "nodes": [0, 1], "alone": 2.0, "slowdown": 1.75,
    }  # fmt: skip


def test_the_jobs_stand_in_a_table_of_their_own(registry):
    results = compare(registry, p=["4+4", "2+6"])
    header, cells = results.jobs()
    assert header == ["job", "p", "nodes", "solver", "alone", "together", "slowdown"]
    assert [line[:3] for line in cells] == [
        ["ring", "4", "0..1"],
        ["star", "4", "2..3"],
        ["ring", "2", "0"],
        ["star", "6", "1..3"],
    ]
    header, cells = compare(registry, over={"ring.n": [1, 2]}).jobs()
    assert header == ["job", "p", "ring.n", "nodes", "solver", "alone", "together", "slowdown"]
    assert [line[:3] for line in cells] == [
        ["ring", "4", "1"],
        ["star", "4", "1"],
        ["ring", "4", "2"],
        ["star", "4", "2"],
    ]
    assert compare(registry, "ring.py", p=4).jobs() is None


def test_a_solver_that_does_not_follow_jobs_refuses(registry):
    (row,) = compare(registry, solvers="single").rows
    assert row.status is Status.REFUSED
    assert row.message == "answers for one job at a time; ask counted.jobs"
    assert [row.solver for row in compare(registry, "ring.py", p=4).rows] == [
        "counted.jobs",
        "single",
    ]


def test_parameters_are_those_of_a_job(registry):
    registry.workload("ring.py+star.py")
    (row,) = compare(registry, settings={"star.n": "2 * p"}).rows
    assert row.params == {"star.n": 16}
    with pytest.raises(UnknownNameError, match=r"Parameters: ring\.n, star\.n"):
        compare(registry, settings={"n": 3})


def test_equal_programs_are_numbered_and_there_may_be_three(registry):
    (row,) = compare(registry, "ring.py+ring.py+star.py", p="2+4+2").rows
    assert list(row.details["jobs"]) == ["ring", "ring-2", "star"]
    assert row.mapping == (0, 0, 1, 1, 2, 2, 3, 3)


def test_a_file_whose_name_has_a_plus_is_one_program(registry, tmp_path):
    (tmp_path / "c++.py").write_text(RING)
    assert registry.workload("c++.py").name == "c++"


@pytest.mark.parametrize("name", ["c++", "+", "ring.py+", "+ring.py", "ring.py + star.py" * 40])
def test_a_name_that_is_nobody_s_is_one_sentence(registry, name):
    with pytest.raises(ParcastError, match=r"nothing|no workload|does not exist|cannot|called"):
        registry.workload(name)


@pytest.mark.parametrize("jobs", [3, {"a": 1}, {"a": {"time": 2.0}}, [1]])
def test_what_others_call_jobs_stays_their_own(registry, jobs, monkeypatch):
    monkeypatch.setattr(Counted, "solve", lambda *_: Prediction(time=1.0, details={"jobs": jobs}))
    results = compare(registry, "ring.py", p=4)
    assert results.rows[0].details == {"jobs": jobs}
    assert results.jobs() is None


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            {"p": None},
            r"ring\+star has 2 jobs, and nothing says how many processes each .* -p 4\+4",
        ),
        ({"p": 8}, r"ring\+star has 2 jobs, and p=8 does not say how many processes"),
        ({"p": "4+0"}, r"p=4\+0 does not say"),
        ({"p": "4+4+4"}, r"p=4\+4\+4 does not say"),
        ({"p": "4+x"}, r"p=4\+x does not say"),
        ({"workload": "ring.py"}, r"p='4\+4' .*; one such as 64\+64 is of several jobs, joined as"),
        ({"workload": ["ring.py+star.py", "ring.py"]}, "ask about them one by one"),
        ({"workload": "ring.py", "p": 4, "placement": "packed"}, "give a mapping"),
        ({"mapping": (0,) * 8, "placement": "packed"}, "exclude each other"),
        ({"placement": "spred"}, "write packed, spread, random, or .* mean 'spread'"),
        ({"placement": "ring=0..1"}, "job star has no nodes; name them as star=0..3"),
        ({"placement": "ring=0..1,star=2..3,moon=4"}, "there is no job 'moon'. Jobs: ring, star"),
        ({"placement": "ring=0..1,star=2,ring=3"}, "job ring stands there twice"),
        ({"placement": "ring=0..1,star=7..8"}, "job star is on node 8, and .* are 0 to 7"),
        ({"placement": {"ring": [0, 1.5], "star": [2]}}, "job ring is on node 1.5"),
        ({"placement": "ring=0..7,star=0"}, "job ring has 8 nodes for 4 processes"),
        ({"placement": "ring=a,star=0"}, "placement of ring 'a': write whole numbers from 0"),
        ({"p": "12+6"}, "the jobs take 9 nodes of 2 cores, and m has 8"),
        ({"workload": "ring.py+ring.py+nil.py"}, "nil.py does not exist"),
    ],
)
def test_what_cannot_be_is_refused(registry, question, message):
    with pytest.raises(ParcastError, match=message):
        compare(registry, **question)


def test_pools_are_kept_at_the_first_rank_of_their_job(registry):
    workload = registry.workload("pool.py+ring.py+pool.py")
    sized = tuple(
        attrs.evolve(job, processes=p) for job, p in zip(workload.jobs, (2, 1, 3), strict=True)
    )
    query = Query(
        workload=attrs.evolve(workload, jobs=sized), machine=registry.machine(MACHINE), p=6
    )
    unrolled = workload.content.at(query)
    assert [pool.keeper for pool in unrolled.pools] == [0, 3]
    asked = [[o.arguments["pool"] for o in listed if o.op == "pool"] for listed in unrolled.lists]
    assert asked == [[0], [0], [], [1], [1], [1]]


def test_what_jobs_cannot_hold_is_a_row(registry):
    (row,) = compare(registry, placement="ring=0..1,star=1..2", p="4+6").rows
    assert row.status is Status.REFUSED
    assert "5 processes on node 1 of 2 cores" in row.message


def test_a_job_that_is_wrong_is_named_with_its_own_ranks(registry, tmp_path):
    (tmp_path / "wrong.py").write_text("def program(rank, size):\n    recv((rank + 1) % size)\n")
    (row,) = compare(registry, "ring.py+wrong.py").rows
    assert row.status is Status.INVALID
    assert "wrong.py:2: at p=4 rank 0" in row.message


def test_a_query_of_another_p_is_refused(registry):
    workload = registry.workload("ring.py+star.py")
    with pytest.raises(InvalidPointError, match="does not say how many processes each one has"):
        workload.content.at(attrs.evolve(compare_query(registry), workload=workload))


def compare_query(registry):
    from parcast import Query

    return Query(workload=registry.workload("ring.py"), machine=registry.machine(MACHINE), p=4)


@pytest.mark.parametrize("placement", ["packed", "spread", "random"])
@pytest.mark.parametrize("mapping", ["block", "cyclic"])
def test_jobs_have_nodes_of_their_own_and_as_many_as_alone(registry, placement, mapping):
    workload = registry.workload("ring.py")
    for seed in range(100):
        random = Random(seed)
        sizes = [random.randint(1, 9) for _ in range(random.randint(2, 4))]
        cores = random.randint(1, 4)
        count = sum(-(-size // cores) for size in sizes) + random.randint(0, 3)
        machine = registry.machine({**MACHINE, "nodes": {"count": count, "cores": cores}})
        jobs = [Job(f"job{at}", workload, size) for at, size in enumerate(sizes)]
        nodes = node_of_each(jobs, machine, placement, mapping, seed)
        assert nodes == node_of_each(jobs, machine, placement, mapping, seed)
        assert set(nodes) <= set(range(count))
        assert max(Counter(nodes).values()) <= cores
        first, parts = 0, []
        for size in sizes:
            parts.append(nodes[first : first + size])
            first += size
        assert sum(len(set(part)) for part in parts) == len(set(nodes))
        for size, part in zip(sizes, parts, strict=True):
            assert len(set(part)) == -(-size // cores)
            order = list(dict.fromkeys(part))
            if mapping == "block":
                assert [order.index(node) for node in part] == [r // cores for r in range(size)]
        if placement == "packed":
            assert list(dict.fromkeys(nodes)) == list(range(len(set(nodes))))


def test_spread_deals_nodes_in_turn_and_random_draws_from_all(registry):
    workload, machine = registry.workload("ring.py"), registry.machine(MACHINE)
    jobs = [Job("a", workload, 2), Job("b", workload, 6)]
    assert node_of_each(jobs, machine, "spread", "block", 0) == (0, 0, 1, 1, 2, 2, 3, 3)
    drawn = {node_of_each(jobs, machine, "random", "block", seed) for seed in range(50)}
    assert len(drawn) > 40
    assert {node for nodes in drawn for node in nodes} == set(range(8))


def test_named_nodes_may_be_shared_and_have_equal_runs(registry):
    workload, machine = registry.workload("ring.py"), registry.machine(MACHINE)
    jobs = [Job("a", workload, 4), Job("b", workload, 4)]
    for placement in ("a=0..3,b=3,2,1,0", {"a": range(4), "b": "3,2,1,0"}):
        assert node_of_each(jobs, machine, placement, "block", 0) == (0, 1, 2, 3, 3, 2, 1, 0)
    nodes = node_of_each(jobs, machine, "a=0..1,b=4,6", "cyclic", 0)
    assert nodes == (0, 1, 0, 1, 4, 6, 4, 6)
