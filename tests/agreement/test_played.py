"""perturb.simulated is the reference without noise; with noise no draw is below perturb.lower."""

import attrs
import numpy as np
import pytest

from parcast import Registry
from parcast.comparison.lowering import lower
from parcast.program.reference import frozen
from parcast.testing import by_sweep, random_program, seeds
from parcast_perturb.machine_costs import Noise
from parcast_perturb.playing.forms import DRAW, FLOWS, QUEUES
from parcast_perturb.playing.running import played
from parcast_perturb.solvers import Clocked, Simulated, lower_bound
from parcast_perturb.solvers.question import question_of
from parcast_traces.trace.columns import END

from .enough_seeds import seeds_until
from .topologies import random_topology

REGISTRY = Registry()
CONTENTIONS = ["none", "fair", "endpoint", "bus"]
NOISE = Noise(calls="exp:100us", computation="exp:500us")


def program_on(seed, contention, **choices):
    """Return a random program on a network of that contention, with a topology half of the time."""
    topology = random_topology(seed) if contention in ("fair", "none") and seed % 2 else None
    return random_program(seed, contention=contention, topology=topology, **choices)


def lowered(query):
    return lower(REGISTRY.lowerings, query, "trace")[0]


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_without_noise_every_end_and_part_is_that_of_the_reference(contention, programs):
    by_message = 0
    for seed in seeds_until(programs // 8, lambda: by_message > programs // 200):
        any_source = seed % 5 == 0  # whose requests at one instant are served as they come up
        chance = program_on(seed, contention, network=seed % 3 > 0, wildcards=any_source)
        program = frozen(chance.expanded, chance.costs).unrolled if any_source else chance.expanded
        ready, reference = lowered(chance.query), by_sweep(program, chance.costs)
        assert Simulated().supports(ready) is None, chance.source
        played_once = Simulated().solve(ready)
        assert played_once.time == pytest.approx(reference.time, rel=1e-9, abs=1e-12), chance.source
        question = question_of(ready)
        run = next(played(question.content, question.change, question.recorded, 1, 0))
        ends = run.ends[question.trace.events.offsets[1:] - 1]
        assert ends == pytest.approx(reference.ends, rel=1e-9, abs=1e-12), chance.source
        if chance.costs.overhead_by == "message":
            by_message += 1
            continue
        if not any_source:
            parts = pytest.approx(reference.mean_parts.values(), rel=1e-8, abs=1e-9)
            assert played_once.parts.values() == parts, chance.source
        if contention == "none":  # the same sums of dyadic numbers, so the same bits
            assert played_once.time == Clocked().solve(ready).time, chance.source
    assert by_message > programs // 200


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_no_draw_is_below_the_bound_of_the_same_noise(contention, programs):
    later = bounded = 0
    is_late = contention != "none"
    for seed in seeds_until(programs // 14, lambda: bounded > 0 and (later > 0 or not is_late)):
        chance = program_on(seed, contention, network=True, without=["start"])
        parts = {**chance.machine.parts, "noise": NOISE}
        machine = attrs.evolve(chance.machine, parts=parts)
        ready = lowered(attrs.evolve(chance.query, machine=machine))
        question = attrs.evolve(question_of(ready), replications=4)
        trace = question.trace
        shared = [run.ends for run in played(question.content, question.change, question.recorded,
                                             4, question.seed)]  # fmt: skip
        for policy in ("lower", "clocked"):
            bounded += chance.costs.overhead_by == "message"
            alone = question.propagate(policy, every_end=True).ends
            alone = trace.events.times[:, END][:, None] + alone
            assert (alone <= np.stack(shared, axis=1) * (1 + 1e-11) + 1e-12).all(), chance.source
        if contention == "none" and chance.costs.overhead_by == "call":
            assert np.stack(shared, axis=1) == pytest.approx(alone, rel=1e-11)
        later += (alone < np.stack(shared, axis=1) * (1 - 1e-6)).any()
    assert later > 0 or not is_late
    assert bounded > 0


def test_the_bound_of_programs_whose_order_timing_decides_holds(programs):
    for seed in seeds(programs // 12):
        contention = CONTENTIONS[1 + seed % 3]
        chance = program_on(seed, contention, wildcards=True, pools=True, without=["start"])
        ready, reference = lowered(chance.query), by_sweep(chance.expanded, chance.costs)
        for solver in (Clocked(), lower_bound()):
            bound = solver.solve(ready)
            assert bound.time <= reference.time * (1 + 1e-11), chance.source
            assert (bound.lower == bound.time) == ready.workload.content.is_less, chance.source


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_compiled_kernels_play_what_plain_ones_play(contention, programs, monkeypatch):
    for seed in seeds(2):
        chance = program_on(seed, contention, size=8, steps=12)
        parts = {**chance.machine.parts, "noise": NOISE}
        machine = attrs.evolve(chance.machine, parts=parts)
        question = question_of(lowered(attrs.evolve(chance.query, machine=machine)))
        arguments = question.content, question.change, question.recorded, 2, seed
        ends = []
        for form in ("plain", "compiled"):
            for kernel in (DRAW, QUEUES, FLOWS):
                monkeypatch.setattr(kernel, "form", lambda _, k=kernel, f=form: getattr(k, f))
            ends.append(np.stack([run.ends for run in played(*arguments)]))
        assert np.array_equal(*ends), chance.source
