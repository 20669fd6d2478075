"""Several jobs at once: as one program that is put together plainly, in every engine."""

from __future__ import annotations

import attrs
import pytest

from parcast import Registry
from parcast.testing import by_events, by_sweep
from parcast.testing.exact import exact_costs, exact_program
from parcast_emulator.program_run import compiled_run, process_run
from parcast_simgrid.flows import played_by_simgrid
from parcast_simgrid.playing import is_installed

from .jobs import pair, random_pair

REGISTRY = Registry()


def ends_of(run):
    run.run()
    return run.ends


def times(query):
    """Return each job's own time, by the emulator."""
    row = REGISTRY.predict(
        query.workload, query.machine, "emulator.tc", d=query.d, mapping=query.mapping
    )
    return {name: job["time"] for name, job in row.details["jobs"].items()}


def test_jobs_are_the_operations_of_each_with_its_ranks_counted_on(programs):
    for seed in range(programs // 3):
        jobs = random_pair(seed, contention="none", wildcards=seed % 2 == 0)
        together = jobs.query.workload.content.at(jobs.query)
        assert together.by_rank() == jobs.plain.by_rank(), seed


def test_both_references_agree_in_fractions(programs):
    for seed in range(programs // 10):
        jobs = random_pair(seed)
        program, costs = exact_program(jobs.plain), exact_costs(jobs.costs)
        assert by_sweep(program, costs).ends == by_events(program, costs).ends, seed


@pytest.mark.parametrize("contention", ["fair", "endpoint", "bus", "none"])
def test_every_process_of_a_job_ends_when_the_references_say(contention, programs):
    for seed in range(programs // 10):
        jobs = random_pair(seed, contention=contention, wildcards=seed % 4 == 0)
        ends = by_sweep(exact_program(jobs.plain), exact_costs(jobs.costs)).ends
        near = 1e-9 * float(max(ends))
        expected = pytest.approx([float(end) for end in ends], abs=near)
        assert ends_of(process_run(jobs.query, 0.0)) == expected, seed
        assert ends_of(compiled_run(jobs.query, 0.0)) == expected, seed


@pytest.mark.parametrize("contention", ["fair", "endpoint", "bus", "none"])
def test_pools_of_jobs_are_kept_and_attended_to_in_their_own_job(contention, programs):
    """By those that are put together plainly, in both references and the emulator."""
    dealt = 0
    for seed in range(programs // 8):
        masters = seed % 2 == 0
        jobs = random_pair(seed, contention=contention, pools=True, masters=masters)
        dealt += len(jobs.plain.pools) > 1
        together = jobs.query.workload.content.at(jobs.query)
        assert together.by_rank() == jobs.plain.by_rank(), seed
        program, costs = exact_program(jobs.plain), exact_costs(jobs.costs)
        ends = by_sweep(program, costs).ends
        assert by_events(program, costs).ends == ends, seed
        near = 1e-9 * float(max(ends))
        expected = pytest.approx([float(end) for end in ends], abs=near)
        assert ends_of(process_run(jobs.query, 0.0)) == expected, seed
    assert dealt > programs // 60


def test_a_job_with_a_pool_on_nodes_of_its_own_takes_as_long_as_alone(programs):
    for seed in range(0, programs // 3, 3):  # without a topology: a star
        jobs = random_pair(seed, without=("io", "local", "weights"), pools=True)
        levels = jobs.query.machine.network.levels
        if set(jobs.alone[0].mapping) & set(jobs.alone[1].mapping) or levels:
            continue
        for query, seconds in zip(jobs.alone, times(jobs.query).values(), strict=True):
            by_itself = REGISTRY.predict(
                query.workload, query.machine, "emulator.tc", p=query.p, mapping=query.mapping
            )
            assert seconds == pytest.approx(by_itself.time, rel=1e-9), seed


@pytest.mark.skipif(not is_installed(), reason="SimGrid is not installed")
def test_simgrid_plays_masters_of_several_jobs(programs):
    for seed in range(programs // 15):
        jobs = random_pair(seed, without=("io",), pools=True, masters=True)
        if any(pool.master is None for pool in jobs.plain.pools):
            continue
        played, _ = played_by_simgrid(jobs.query)
        near = 1e-9 * max(played.ends)
        assert ends_of(process_run(jobs.query, 0.0)) == pytest.approx(played.ends, abs=near), seed


@pytest.mark.skipif(not is_installed(), reason="SimGrid is not installed")
def test_simgrid_ends_them_at_the_same_times(programs):
    for seed in range(programs // 30):
        jobs = random_pair(seed, without=("io",))
        played, _ = played_by_simgrid(jobs.query)
        run = process_run(jobs.query, 0.0)
        near = 1e-9 * max(played.ends)
        assert ends_of(run) == pytest.approx(played.ends, abs=near), seed
        assert run.starts == pytest.approx(played.starts, abs=near), seed


def test_a_job_is_timed_from_its_own_start(programs):
    """The latest `start()` of a job is that of the run in which only its own ones stand."""
    for seed in range(programs // 10):
        jobs = random_pair(seed)
        reference = by_sweep(jobs.plain, jobs.costs)
        first = 0
        for (name, seconds), query in zip(times(jobs.query).items(), jobs.alone, strict=True):
            ranks = range(first, first := first + query.p)
            start = by_sweep(_starting(jobs.plain, ranks), jobs.costs).start
            expected = max(reference.ends[rank] for rank in ranks) - start
            assert seconds == pytest.approx(expected, abs=1e-9 * max(reference.ends)), (seed, name)


def _starting(unrolled, ranks):
    """Return a program in which only these ranks call `start`."""
    blocks = [
        attrs.evolve(block, op="region", arguments={"name": ""})
        if block.op == "start" and int(block.ranks[0]) not in ranks
        else block
        for block in unrolled.blocks
    ]
    return attrs.evolve(unrolled, blocks=blocks)


def test_alone_is_the_ordinary_answer_in_every_bit(programs):
    for seed in range(programs // 30):
        jobs = random_pair(seed)
        row = REGISTRY.compare(
            jobs.query.workload,
            jobs.query.machine,
            p="+".join(str(query.p) for query in jobs.alone),
            d=jobs.query.d,
            mapping=jobs.query.mapping,
            solvers="emulator.tc",
        ).rows[0]
        for query, job in zip(jobs.alone, row.details["jobs"].values(), strict=True):
            ordinary = REGISTRY.predict(
                query.workload, query.machine, "emulator.tc", p=query.p, d=query.d,
                mapping=query.mapping,
            )  # fmt: skip
            assert job["alone"] == ordinary.time, seed
            assert job["slowdown"] == (job["time"] / ordinary.time if ordinary.time else None)


def test_jobs_that_share_no_link_do_not_see_each_other(programs):
    """On nodes of their own around a switch that is never full."""
    for seed in range(0, programs // 3, 3):  # without a topology: a star
        jobs = random_pair(seed, without=("io", "local", "weights"))
        if set(jobs.alone[0].mapping) & set(jobs.alone[1].mapping):
            continue
        if any(level.shared for level in jobs.query.machine.network.levels):
            continue
        for query, seconds in zip(jobs.alone, times(jobs.query).values(), strict=True):
            by_itself = REGISTRY.predict(
                query.workload, query.machine, "emulator.tc", p=query.p, mapping=query.mapping
            )
            assert seconds == pytest.approx(by_itself.time, rel=1e-9), seed


def test_it_does_not_matter_which_job_is_named_first(programs):
    for seed in range(programs // 10):
        jobs = random_pair(seed, without=("io",))
        (first, second), machine = jobs.alone, jobs.query.machine
        if machine.network.ports > 1:  # a process has its port by its place on the node
            continue
        turned = pair(
            machine,
            [query.workload.content.tree.source for query in (second, first)],
            [second.p, first.p],
            [*second.mapping, *first.mapping],
        )
        before, after = times(jobs.query), times(turned.query)
        assert before["a"] == pytest.approx(after["b"], rel=1e-9), seed
        assert before["b"] == pytest.approx(after["a"], rel=1e-9), seed


HALO = """
def program(rank, size):
    for step in range(3):
        compute(2e6)
        sendrecv((rank + 1) % size, 3e5, (rank - 1) % size)
    allreduce(8e4)
"""
TRANSPOSE = """
def program(rank, size):
    compute(1e6)
    alltoall(2e5)
    bcast(1e5, root=size - 1)
"""
BOTH = """
def program(rank, size):
    if rank < 6:
        for step in range(3):
            compute(2e6)
            sendrecv((rank + 1) % 6, 3e5, (rank - 1) % 6)
        allreduce(8e4, color=0)
    else:
        compute(1e6)
        alltoall(2e5, color=1)
        bcast(1e5, root=3, color=1)
"""


def test_two_jobs_are_a_program_whose_ranks_do_either(tmp_path):
    for name, source in {"halo": HALO, "transpose": TRANSPOSE, "both": BOTH}.items():
        (tmp_path / f"{name}.py").write_text(source)
    machine = {
        "name": "tapered",
        "processor": {"rate": "1 GFLOP/s"},
        "nodes": {"count": 12},
        "network": {"startup": "2 us", "bandwidth": "1 GB/s", "contention": "fair"},
        "topology": {"kind": "fat-tree", "down": [4, 3], "up": [1, 1]},
    }
    nodes = {"halo": [0, 1, 4, 5, 8, 9], "transpose": [2, 3, 6, 7]}
    together = REGISTRY.compare(
        f"{tmp_path}/halo.py+{tmp_path}/transpose.py",
        machine,
        p="6+4",
        placement=nodes,
        solvers="emulator.tc",
    ).rows[0]
    mapping = (*nodes["halo"], *nodes["transpose"])
    both = REGISTRY.predict(f"{tmp_path}/both.py", machine, "emulator.tc", p=10, mapping=mapping)
    assert together.time == pytest.approx(both.time, rel=1e-12)
    assert together.details["jobs"]["halo"]["slowdown"] > 1.05
    assert together.details["jobs"]["transpose"]["slowdown"] > 1.05
