"""pamela's form free is below the reference, its form barrier above it (rows 3 and 4)."""

import attrs
import pytest

from parcast.errors import UnsupportedError
from parcast.program.workload import Program
from parcast.testing import by_sweep, random_program, seeds
from parcast_pamela.programs.lowering import lower
from parcast_pamela.solvers.bound import Bound, Options


def bound(made, form):
    query = made.query.with_options(Options(form=form))
    try:
        workload, _ = lower(query.workload, query)
    except UnsupportedError:
        return None
    return Bound().solve(attrs.evolve(query, workload=workload))


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_no_run_is_faster_than_free(contention, eager, programs):
    tight = 0
    for seed in seeds(programs // 8):
        made = random_program(seed, contention=contention, eager=eager)
        if (found := bound(made, "free")) is not None:
            reference = by_sweep(made.expanded, made.costs).time
            assert found.lower <= reference * (1 + 1e-12), made.source
            tight += found.time > reference / 2
    assert tight > programs // 300  # of 37 some 16; one or none in 10 million days


def test_without_contention_no_run_is_slower_than_barrier(programs):
    asked = 0
    for seed in seeds(programs // 3):
        without = ["weights", "start", "colors", *(["algorithms"] if seed % 2 else [])]
        made = random_program(seed, contention="none", without=without)
        if (found := bound(made, "barrier")) is not None:
            asked += 1
            assert found.time >= by_sweep(made.expanded, made.costs).time * (1 - 1e-12), made.source
    assert asked > programs // 300  # of 100 some 20


@pytest.mark.parametrize("seed", [1260, 2340, 3045, 3465, 3837])
def test_the_barriers_of_a_collective_access_are_in_the_form_barrier(seed):
    made = random_program(seed, contention="none", without=["weights", "start", "colors"])
    assert "collective=True" in made.source
    reference = by_sweep(made.expanded, made.costs).time
    assert bound(made, "barrier").time >= reference * (1 - 1e-12)


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_no_run_is_faster_than_what_a_recorded_one_has_of_work_and_load(contention, programs):
    tight = 0
    for seed in seeds(programs // 8):
        made = random_program(seed, contention=contention, pools=seed % 2 > 0)
        program = Program(None, made.unrolled)
        query = attrs.evolve(
            made.query, workload=attrs.evolve(made.query.workload, content=program)
        )
        workload, notes = lower(query.workload, query)
        found = Bound().solve(attrs.evolve(query, workload=workload))
        reference = by_sweep(made.expanded, made.costs).time
        assert found.lower <= reference * (1 + 1e-12), made.source
        assert "lower bound" in notes[0]
        tight += found.time > reference / 2
    assert tight > programs // 150  # of 37 some 18
