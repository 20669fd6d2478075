"""SimGrid plays programs as the references do: every end and part."""

from __future__ import annotations

import pytest

from parcast.testing import by_sweep, random_program
from parcast_simgrid.playing import is_installed, play
from parcast_simgrid.score import score

from .topologies import random_topology

pytestmark = pytest.mark.skipif(
    not is_installed(), reason="SimGrid is not installed: parcast-simgrid[simgrid]"
)


@pytest.mark.parametrize("contention", ["fair", "none"])
def test_every_end_and_part_is_that_of_the_reference(contention, programs):
    for seed in range(programs // 30):
        program = random_program(
            seed,
            contention=contention,
            network=True,
            without=("io",),
            topology=random_topology(seed) if seed % 3 else None,
        )
        if program.costs.weight_bytes is not None:  # refused
            continue
        reference = by_sweep(program.expanded, program.costs)
        played = play(score(program.expanded, program.costs), 60.0)
        near = 1e-9 * max(reference.ends)
        assert played.start == pytest.approx(reference.start, abs=near), program.source
        assert played.ends == pytest.approx(reference.ends, abs=near), program.source
        for spent, parts in zip(played.parts, reference.parts, strict=True):
            assert spent.values() == pytest.approx(parts.values(), abs=near), program.source
