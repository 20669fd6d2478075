"""Memory, operations and bytes of a step are those of a plain count from the papers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from parcast import InvalidPointError, Query, Registry
from parcast.files import workload_from_data
from parcast.testing import seeds
from parcast_training.steps.asking import step_at
from parcast_training.steps.files import KIND
from parcast_training.steps.memory import memory_of
from parcast_training.steps.schedule import order
from parcast_training.steps.segments import Beside, Repeat, Ring, Segment

from .plain_counts import Counts
from .random_jobs import random_job, random_machine


def sent(segments: Iterable[Segment], into: dict[str, float], times: float = 1) -> None:
    """Add up the bytes that a rank sends, by what for."""
    for segment in segments:
        if isinstance(segment, Repeat):
            sent(segment.body, into, times * segment.count)
        elif isinstance(segment, Beside):
            sent(segment.rings, into, times)
        elif isinstance(segment, Ring):
            into[segment.purpose] += times * segment.steps * segment.bytes


def random_step(draw: random.Random, registry: Registry) -> tuple[dict[str, Any], int, Any]:
    """Return a job without adapters, its processes, and its step."""
    while True:
        data, p = random_job(draw)
        data |= {"lora": 0, "lora_on": "attention"}
        workload = workload_from_data(data, "job", {"training": KIND})
        machine = registry.machine(random_machine(draw))
        try:
            return data, p, step_at(Query(workload=workload, machine=machine, p=p))
        except InvalidPointError:
            continue


@pytest.mark.parametrize("seed", seeds(4))
def test_what_a_step_holds_computes_and_sends_is_a_plain_count(seed):
    draw, registry = random.Random(seed), Registry()
    for _ in range(25):
        data, p, step = random_step(draw, registry)
        plain, job, layout = Counts(data, p), step.job, step.layout
        assert job.weights == plain.weights()
        assert job.model_flops == pytest.approx(plain.flops())
        orders = [[*order(layout, s, zero_bubble=step.zero_bubble)] for s in range(layout.pp)]
        held = [(*plain.states(s), plain.activations(s, orders[s])) for s in range(layout.pp)]
        memory = memory_of(job, layout)
        fullest = max(held, key=sum)
        ours = (memory.weights, memory.gradients, memory.optimizer, memory.activations)
        assert memory.total == pytest.approx(sum(fullest)), data
        assert any(ours == pytest.approx(rows) for rows in held), data
        bytes_sent = dict.fromkeys(("expert parallel", *plain.sent()), 0.0)
        for run in orders[0]:
            sent(step.segments(0, run), bytes_sent)
        for purpose, expected in plain.sent().items():
            if purpose in {"tensor parallel", "context parallel"} or expected:
                assert bytes_sent[purpose] == pytest.approx(expected), (purpose, data)
