"""Full links shared by round trips (``network.weight_bytes``): all engines as exact arithmetic."""

from __future__ import annotations

import attrs
import pytest

from parcast import Registry, Status
from parcast.testing import by_events, by_sweep, random_program, seeds
from parcast_emulator.program_run import compiled_run, process_run

from .enough_seeds import seeds_until
from .topologies import random_topology


def by_round_trips(seed, **features):
    """Return a random program on a machine whose routes differ in latency, so in shares."""
    topology = random_topology(seed) if seed % 3 else None
    program = random_program(seed, contention="fair", network=True, topology=topology, **features)
    network = attrs.evolve(program.machine.network, weight_bytes=1024.0 * (1 + seed % 3))
    parts = {**program.machine.parts, "network": network}
    return attrs.evolve(program, machine=attrs.evolve(program.machine, parts=parts))


def test_references_agree_in_fractions_and_the_emulator_is_near(programs):
    for seed in seeds(programs // 4):
        program = by_round_trips(seed, wildcards=seed % 2 == 0, pools=seed % 4 == 0)
        exact = by_sweep(*program.exact)
        assert exact == by_events(*program.exact), program.source
        for engine in (process_run,) if program.unrolled.pools else (process_run, compiled_run):
            run = engine(program.query, 0.0)
            run.run()
            assert run.ends == pytest.approx([*map(float, exact.ends)], rel=1e-11), program.source


@pytest.mark.parametrize("solver", ["petri.mean", "perturb.simulated"])
def test_families_that_share_links_follow(solver, programs):
    registry, answered = Registry(), 0
    for seed in seeds_until(programs // 8, lambda: answered > programs // 20):
        program = by_round_trips(seed)
        query = program.query
        (row,) = registry.compare(
            query.workload, query.machine, p=query.p, d=query.d, mapping=query.mapping,
            solvers=solver, elasticities=False).rows  # fmt: skip
        if row.status is not Status.OK:
            assert "weight_bytes" not in row.message
            continue
        answered += 1
        assert row.time == pytest.approx(float(by_sweep(*program.exact).time), rel=1e-9)
    assert answered > programs // 20
