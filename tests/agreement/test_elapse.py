"""`elapse` is wall time: neither node, boost, memory nor load make it longer, in any family."""

from __future__ import annotations

import re
from random import Random

import attrs
import pytest

from parcast import Registry
from parcast.testing import by_events, by_sweep, random_program, seeds
from parcast_emulator.program_run import compiled_run, process_run
from parcast_petri.machine.background import Background

from .enough_seeds import seeds_until

FAMILIES = ("emulator", "perturb", "petri.mean", "petri.explicit", "pamela", "spmd")


def elapsing(seed, **options):
    """Return a random program in which nothing is computed: it elapses."""
    made = random_program(seed, without=["memory", "io"], **options)
    source = re.sub(
        r"compute\((.*)\)$", r"elapse(max(0, \1) / 2**20)", made.source, flags=re.MULTILINE
    )
    return attrs.evolve(made, source=source)


def on_other_nodes(made, seed):
    """Return the same program where nodes, boost and memory are others; it computes nothing."""
    random, parts = Random(f"nodes of {seed}"), made.machine.parts
    groups = tuple(
        attrs.evolve(group, weight=random.choice([0.25, 0.5, 2.0, 4.0]))
        for group in parts["nodes"].groups
    )
    nodes = attrs.evolve(
        parts["nodes"], groups=groups, memory_bandwidth=2.0**10, core_bandwidth=2.0**9
    )
    processor = attrs.evolve(parts["processor"], boost=random.choice([2.0, 4.0]))
    parts = {**parts, "nodes": nodes, "processor": processor}
    return attrs.evolve(made, machine=attrs.evolve(made.machine, parts=parts))


@pytest.mark.parametrize("evaluate", [by_sweep, by_events, process_run, compiled_run])
def test_what_only_elapses_ends_on_any_nodes_when_it_did(evaluate, programs):
    elapsed = 0
    for seed in seeds_until(programs // 6, lambda: elapsed > programs // 24):
        pools = evaluate is not compiled_run and seed % 2 > 0
        made = elapsing(seed, pools=pools, wildcards=True)
        elapsed += "elapse" in made.source
        ends = []
        for asked in (made, on_other_nodes(made, seed)):
            if evaluate in (by_sweep, by_events):
                ends.append(evaluate(asked.expanded, asked.costs).ends)
            else:
                ends.append(tuple(evaluate(asked.query, 0.0).ends))
        assert ends[0] == ends[1], made.source
    assert elapsed > programs // 24


def test_every_family_has_the_same_time_on_any_nodes(programs):
    """Those that refuse unlike nodes are asked about alike ones."""
    registry, answered = Registry(), dict.fromkeys(FAMILIES, 0)
    for seed in seeds(max(4, programs // 60)):
        made = elapsing(seed, contention="none", pools=seed % 3 == 0)
        weight = Random(seed).choice([0.25, 0.5, 4.0])
        nodes = made.machine.parts["nodes"]
        times = []
        for factor in (1.0, weight):
            groups = tuple(attrs.evolve(group, weight=factor) for group in nodes.groups)
            parts = {**made.machine.parts, "nodes": attrs.evolve(nodes, groups=groups)}
            if factor != 1.0 and "," not in str(made.mapping):
                parts["background"] = Background(utilization=0.5)
            machine = attrs.evolve(made.machine, parts=parts)
            rows = registry.compare(
                made.query.workload,
                machine,
                p=made.size,
                d=made.disks,
                mapping=made.mapping,
                solvers=FAMILIES,
                elasticities=False,
            ).rows
            times.append([row.time for row in rows])
        for name, *pair in zip(FAMILIES, *times, strict=True):
            if None not in pair:
                answered[name] += 1
                assert pair[0] == pytest.approx(pair[1], rel=1e-12), (name, made.source)
    assert min(answered.values()) > 0, answered
