"""Ways between kinds of workloads commute: a program that went by a trace is still that program."""

from parcast import Query, Registry
from parcast.costs import Costs
from parcast.lowering import lower
from parcast.program.ready import matched
from parcast.testing import by_sweep, random_program

REGISTRY = Registry()


def test_a_program_that_was_a_trace_between_ends_when_it_does(programs):
    for seed in range(programs // 4):
        made = random_program(seed, contention="none", without=["io"])  # a trace has no files
        through = lower(REGISTRY.lowerings, made.query, "trace")[0]
        back: Query = lower(REGISTRY.lowerings, through, "program")[0]
        unrolled = matched(back).unrolled
        found = by_sweep(unrolled, Costs.of(back, unrolled.needs()))
        reference = by_sweep(made.expanded, made.costs)
        assert (found.ends, found.start) == (reference.ends, reference.start), made.source
