"""Random programs are in the language, alike for alike arguments, and free of what is left out."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from parcast.errors import UnknownNameError
from parcast.program import Operation
from parcast.program.matching.collectives import algorithms
from parcast.program.matching.dry_run import sweep
from parcast.program.matching.prepare import match_unrolled
from parcast.program.reader import read_source
from parcast.program.reference.fixed_order import is_decided_by_timing
from parcast.testing import FEATURES, random_program, seeds

from .calling import call

WORDS = {
    "compute": "compute(",
    "elapse": "elapse(",
    "requests": "wait",
    "sendrecv": "sendrecv(",
    "collectives": "bcast(",
    "colors": "color=",
    "io": "read(",
    "loops": "for ",
    "regions": "region(",
    "start": "start()",
}


def test_unrolling_gives_what_calling_gives():
    for seed in seeds(150):
        made = random_program(seed, wildcards=True)
        called = call(made.source, made.size).by_rank()
        for found, expected in zip(made.unrolled.by_rank(), called, strict=True):
            assert [shown(one) for one in found] == [shown(one) for one in expected], made.source


_POOL = re.compile(r"^( *)for task in pool\((range\(\d+\))(?:, bytes=(.*))?\):$", re.MULTILINE)


def test_tasks_of_pools_hold_what_calling_gives():
    """Each task in place of an iteration, after an ``elapse`` of what is fetched of it."""
    for seed in seeds(150):
        made = random_program(seed, pools=True, decimal=seed % 2 > 0)
        looped = _POOL.sub(
            lambda m: f"{m[1]}for task in {m[2]}:\n{m[1]}    elapse({m[3] or 0})", made.source
        )
        called = call(looped, made.size).by_rank()
        for found, expected in zip(made.unrolled.by_rank(), called, strict=True):
            tasks = [one for step in found for one in _tasks(step, made.unrolled.pools)]
            # bytes are whole but for rounding, seconds are what they are
            assert [(one.op, to_12_digits(one.arguments)) for one in tasks] == [
                (one.op, to_12_digits(one.arguments)) for one in expected
            ], made.source


def to_12_digits(arguments):
    return {
        name: float(f"{value:.12g}") if isinstance(value, float) else value
        for name, value in arguments.items()
    }


def _tasks(step, pools):
    if step.op != "pool":
        yield step
        return
    pool = pools[step.arguments["pool"]]
    for task, fetched in enumerate(np.broadcast_to(pool.bytes, pool.tasks).tolist()):
        yield Operation(step.site, "elapse", {"seconds": fetched})
        yield from pool.work.rank(task)


@pytest.mark.parametrize("eager_limit", [-1, 512, math.inf])
def test_every_program_is_matched_and_can_run_to_its_end(eager_limit):
    for seed in seeds(60):
        made = random_program(seed, wildcards=True)
        chosen = algorithms(made.machine.network.collectives)
        matched = match_unrolled(made.unrolled, chosen, eager_limit)
        if not is_decided_by_timing(matched.unrolled):
            assert not sweep(matched.columns, eager_limit), made.source


def shown(operation):
    return operation.op, operation.arguments, sorted(operation.requests)


def test_the_same_seed_gives_the_same_program():
    one, other = random_program(7), random_program(7)
    assert (one.source, one.machine, one.size) == (other.source, other.machine, other.size)
    assert random_program(8).source != one.source


@pytest.mark.parametrize("feature", WORDS)
def test_a_feature_is_used_unless_it_is_left_out(feature):
    sources = [random_program(seed).source for seed in range(60)]
    assert any(WORDS[feature] in source for source in sources)
    without = [random_program(seed, without=[feature]).source for seed in range(60)]
    assert not any(WORDS[feature] in source for source in without)


def test_wildcards_are_used_only_where_asked():
    assert any("ANY" in random_program(seed, wildcards=True).source for seed in range(20))
    assert not any("ANY" in random_program(seed).source for seed in range(60))


def test_nothing_but_a_program_is_left_without_all_features():
    assert read_source(random_program(1, without=FEATURES).source).content.tree.body == ()


def test_a_feature_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'colors'"):
        random_program(1, without=["color"])
