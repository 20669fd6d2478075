"""What both references and the processes of the emulator say of one program, held equal."""

from __future__ import annotations

import numpy as np
import pytest

from parcast.testing import by_events, by_sweep
from parcast.testing.programs import RandomProgram
from parcast_emulator.program_run import process_run


def assert_equal_in_every_bit(program: RandomProgram) -> None:
    """Of a program whose numbers are dyadic, where no links are shared."""
    program.query.workload.content.check(program.query)
    swept = by_sweep(program.expanded, program.costs)
    assert swept == by_events(program.expanded, program.costs), program.source
    run = process_run(program.query, 0.0)
    run.run()
    assert (tuple(run.ends), tuple(run.parts)) == (swept.ends, swept.parts), program.source


def assert_as_in_fractions(program: RandomProgram) -> None:
    """Of a program whose messages share links: rates of these are not dyadic."""
    exact = by_sweep(*program.exact)
    assert exact == by_events(*program.exact), program.source
    run = process_run(program.query, 0.0)
    run.run()
    near = 1e-11 * max(run.ends)
    assert run.ends == pytest.approx([*map(float, exact.ends)], abs=near), program.source
    exact_parts = [[float(value) for value in parts.values()] for parts in exact.parts]
    run_parts = [parts.values() for parts in run.parts]
    assert np.array(run_parts) == pytest.approx(np.array(exact_parts), abs=near), program.source
