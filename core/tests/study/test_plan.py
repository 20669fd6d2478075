"""Points are numbered as one expects, and any part of them can be made alone."""

from __future__ import annotations

from types import ModuleType

from hypothesis import given
from hypothesis import strategies as st

from parcast import Registry, Row, SolverEntry, hookimpl
from parcast.results.packing import Pack
from parcast.study import read_study
from parcast.study.store import SIZE, Block, Store, block_key, blocks, encode, missing

WORKLOADS = [
    {"name": "w", "parameters": {"n": 1}, "phase": [{"parallel": "n"}]},
    {"name": "v", "parameters": {"n": 2, "k": 3}, "phase": [{"parallel": "n*k"}]},
]
MACHINES = [{"name": m, "processor": {"rate": 1}, "storage": {"disks": 3}} for m in "ab"]


PLUGIN = ModuleType("parcast_nobody")
PLUGIN.parcast_solvers = hookimpl(lambda: [SolverEntry("nobody", "phases", "none:none", "None.")])


def plan_of(**asked):
    registry = Registry([PLUGIN])
    return registry, read_study(
        registry, {"workload": WORKLOADS, "machine": MACHINES, **asked}
    ).plans[0]


def places(plan, start=0, stop=None):
    stop = len(plan) if stop is None else stop
    return [
        (
            line.workload.name, line.machine.name, line.mapping,
            *{**line.settings.parameters, **line.settings.machine}.values(), line.seed, p, d,
        )
        for line, p, d in plan.places(start, stop)
    ]  # fmt: skip


def test_d_varies_fastest_and_the_workload_slowest():
    _, plan = plan_of(
        p=[1, 2], d=[1, 4], seed=[0, 7], set={"n": [5, 6], "processor.rate": [1, 2]},
        mapping=["block", "cyclic"],
    )  # fmt: skip
    expected = [
        (w, m, how, n, rate, seed, p, d)
        for w in "wv" for m in "ab" for how in ("block", "cyclic")
        for n in (5, 6) for rate in (1, 2) for seed in (0, 7) for p in (1, 2) for d in (1, 4)
    ]  # fmt: skip
    assert places(plan) == expected
    assert len(expected) == len(plan)


def test_without_d_each_machine_has_its_own():
    _, plan = plan_of(p=[1, 2])
    assert {d for *_, d in places(plan)} == {3}


@given(st.integers(0, 70), st.integers(0, 70))
def test_any_part_of_a_plan_is_that_part_of_the_whole(a, b):
    _, plan = PLAN
    start, stop = sorted((min(a, len(plan)), min(b, len(plan))))
    assert places(plan, start, stop) == WHOLE[start:stop]


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 6))
def test_blocks_cover_a_stretch_and_stand_at_multiples_of_their_size(a, b, power):
    start, stop = sorted((a, b))
    found = list(blocks(start, stop, 2**power))
    assert [i for one in found for i in range(one.start, one.stop)] == list(range(start, stop))
    for one in found:
        assert len(one) in {2**k for k in range(power + 1)}
        assert one.start % len(one) == 0


@given(st.integers(1, 100), st.sets(st.tuples(st.integers(0, 99), st.integers(0, 4))))
def test_what_is_stored_is_found_again_however_it_was_cut(tmp_path_factory, count, chosen):
    digests = b"".join(i.to_bytes(SIZE, "little") for i in range(count))
    store = Store(tmp_path_factory.mktemp("store"))
    covered = set()
    for at, power in chosen:
        block = Block(at >> power << power, (at >> power << power) + 2**power)
        if block.stop <= count:
            store.put(block_key(digests, block), encode(Pack.of([ROW] * len(block))))
            covered |= set(range(block.start, block.stop))
    found = list(store.stored_blocks(digests, count))
    assert [i for one in found for i in range(one.start, one.stop)] == sorted(covered)
    rest = [i for one in missing(found, count) for i in range(one.start, one.stop)]
    assert rest == sorted(set(range(count)) - covered)


ROW = Row(workload="w", machine="m", solver="s", p=1, d=1)
PLAN = plan_of(p=[1, 2, 4], d=[1, 2], set={"n": [1, "2*p"]}, seed=[0, 1])
WHOLE = places(PLAN[1])
