"""Allreduces at more nodes, by the messages that explain those at fewer."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
import pytest

from parcast import Registry
from parcast.program.matching import LIBRARIES
from parcast_machines_from.checking.predicting import check_machine
from parcast_machines_from.estimating.messages import Counts, explained
from parcast_machines_from.growing import grown
from parcast_machines_from.records import Reading, Series, Value

SIZES = tuple(4.0 * 4**power for power in range(9))
PER_NODE = 4
#: Rounds between nodes and within one that the mean process waits for, by hand: each doubling is
#: one; rabenseifner doubles twice; a broadcast's mean process is half of its doublings deep.
ROUNDS: dict[str, Callable[[int], tuple[float, float]]] = {
    "recursive-doubling": lambda nodes: (np.log2(nodes), 2),
    "rabenseifner": lambda nodes: (2 * np.log2(nodes), 4),
    "reduce-bcast": lambda nodes: (1.5 * np.log2(nodes), 3),
}


@pytest.fixture(scope="module")
def counts() -> Counts:
    return Counts(Registry())


def rules(processes: int, size: float) -> str:
    return LIBRARIES["openmpi"].algorithm("allreduce", processes, size)


def measured(counts: Counts, nodes: int, noise: float = 0.0) -> Series:
    costs = np.array([20e-6, 3e-6, 0.1e-9, 0.5e-9, 0.5e-9])
    random = np.random.default_rng(nodes)
    values = tuple(
        Value(size, float(row @ costs * np.exp(random.normal(0, noise))), line)
        for line, size in enumerate(SIZES, 1)
        for row in [
            counts.of(rules(nodes * PER_NODE, size), nodes, PER_NODE) * [1, 1, size, size, size]
        ]
    )
    return Series("allreduce", "s", values, "a.txt", "OSU 7", nodes * PER_NODE, nodes)


@pytest.mark.parametrize("algorithm", ROUNDS)
@pytest.mark.parametrize("nodes", [2, 8])
def test_rounds_of_an_algorithm_are_counted(counts: Counts, algorithm: str, nodes: int) -> None:
    between, within = counts.of(algorithm, nodes, PER_NODE)[:2]
    assert (between, within) == pytest.approx(ROUNDS[algorithm](nodes))


def test_an_algorithm_that_no_smaller_run_has_is_predicted(counts: Counts) -> None:
    """From 128 processes on Open MPI reduces and broadcasts short sums, which takes longer."""
    cause = explained(counts, [measured(counts, nodes) for nodes in (8, 16)])
    assert cause is not None
    assert cause.library == "Open MPI"
    truth = measured(counts, 32)
    assert {rules(128, value.size) for value in truth.values} > {"reduce-bcast"}
    predicted = [cause.time(32, value.size) for value in truth.values]
    assert predicted == pytest.approx([value.value for value in truth.values], rel=0.02)


def test_times_that_no_messages_explain_are_left_to_the_usual_growth(counts: Counts) -> None:
    noisy = [measured(counts, nodes, noise=1.0) for nodes in (8, 16)]
    assert explained(counts, noisy) is None
    assert explained(counts, [attrs.evolve(noisy[0], processes=None)]) is None
    assert explained(counts, [attrs.evolve(noisy[0], nodes=1)]) is None
    values, _ = grown(Registry(), Reading(tuple(noisy)), 32)
    assert {value.by for value in values} == {"growth of public clusters"}


def test_osu_states_the_mean_of_all_processes() -> None:
    """In a chain of four the root ends at once and the others after 1, 2 and 3 messages."""
    network = {"startup": "10 us", "bandwidth": "1 GB/s", "collectives": "bcast chain"}
    machine = Registry().machine({"name": "m", "nodes": {"cores": 1}, "network": network})
    series = Series("bcast", "s", (Value(8.0, 1.0, 1),), "b.txt", "OSU 7", 4, 4)
    checked = check_machine(Registry(), machine, Reading((series,)), limit=4, samples=0)
    assert checked.compared[0].predicted == pytest.approx(1.5 * (10e-6 + 8e-9))
