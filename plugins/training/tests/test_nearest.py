"""Layouts that cannot be are refused with the nearest that can, each of them tried."""

from __future__ import annotations

import math
import random
import re

import attrs
import pytest

from parcast import InvalidPointError
from parcast.errors import ParcastError
from parcast.testing import cases, seeds
from parcast_training.steps.exchanges import members_of
from parcast_training.steps.job import Job
from parcast_training.steps.layout import layout_of
from parcast_training.steps.nearest import layout_or_nearest, nearest

JOBS = cases(60)


def job(**changes: object) -> Job:
    """Return GPT-3 in the layout of arXiv 2205.05198, table 3, with changes."""
    return attrs.evolve(
        Job(layers=96, hidden=12288, heads=96, sequence=2048, global_batch=64, tp=8, pp=8),
        **changes,
    )


@pytest.mark.parametrize(
    ("changes", "p", "sentence"),
    [
        ({"tp": 7}, 64, "heads = 96 is not divisible by tp = 7; nearest: tp = 8 or 4"),
        ({"tp": 7}, 56, "global_batch = 70 and tp = 1; or p = 64 and tp = 8; or p = 48 and tp = 6"),
        ({"pp": 10}, 64, "layers = 96 is not divisible by pp = 10; nearest: pp = 8 or 4"),
        ({"kv_heads": 4}, 64, "kv_heads = 4 is not divisible by tp = 8; nearest: tp = 4"),
        ({"ffn": 49156}, 64, "ffn = 49156 is not divisible by tp = 8; nearest: tp = 4"),
        ({"cp": 3}, 64, "sequence = 2048 is not divisible by cp = 3; nearest: cp = 1"),
        ({"global_batch": 65}, 128, "dp * micro_batch = 2 * 1; nearest: global_batch = 66 or 64"),
        ({}, 65, "p = 65 is no multiple of tp * cp * pp = 8 * 1 * 8; nearest: p = 64 or 128"),
        ({"dp": 2}, 64, "= 128, but p = 64; nearest: dp = 1; or tp = 4; or p = 128"),
        ({"experts": 8, "ep": 3}, 64, "experts = 8 is not divisible by ep = 3; nearest: ep = 1"),
        ({"experts": 8, "ep": 8}, 256, "ep = 8 does not divide dp = 4"),
        ({"active": 3}, 64, "active = 3 of experts = 1; at most all; nearest: active = 1"),
        ({"interleave": 3, "global_batch": 12}, 64, "pp = 8; nearest: global_batch = 16 or 8"),
        ({"interleave": 5}, 64, "by interleave = 5; nearest: interleave = 6 or 4"),
        ({"schedule": "interleaved"}, 64, "nearest: interleave = 2; or schedule = '1f1b'"),
        ({"sequence": 2044, "sp": 1}, 64, "divisible by tp = 8; nearest: tp = 4; or sp = 0"),
        ({"sp": 2}, 64, "nearest: sp = 1 or 0"),
        ({"zero": 4}, 64, "zero = 4; 0 to 3; nearest: zero = 3"),
        ({"schedule": "zero-bubble", "zero": 2}, 64, "zero = 1; or schedule = '1f1b'"),
        (
            {"schedule": "dualpipe", "global_batch": 14},
            64,
            "here 14; nearest: global_batch = 16; or",
        ),
        (
            {"schedule": "dualpipe", "pp": 3},
            24,
            "an even pp, here 3; nearest: pp = 4 and tp = 6; or",
        ),
        (
            {"overlap_experts": True},
            64,
            "no other pass beside each; it needs interleave of 2 or more",
        ),
        ({"overlap_experts": True, "pp": 1, "zero": 2}, 8, "nearest: zero = 1; or overlap_experts"),
        ({"schedule": "dualpipe", "zero": 2}, 64, "which 'dualpipe' puts off; nearest: zero = 1"),
        ({"tp": 7, "pp": 10, "global_batch": 65}, 128, "nearest: pp = 16 and tp = 8; or "),
        ({"tp": 7, "zero": 5, "kv_heads": 12}, 64, "nearest: tp = 4 and zero = 3; or "),
    ],
)
def test_impossible_layouts_are_refused_with_the_nearest(changes, p, sentence):
    with pytest.raises(InvalidPointError, match=re.escape(sentence)):
        layout_or_nearest(job(**changes), p)


def test_groups_that_lie_unevenly_on_nodes_are_refused_with_what_lies_evenly():
    uneven = job(tp=6, pp=8)
    assert layout_or_nearest(uneven, 48, per_node=6)
    with pytest.raises(InvalidPointError, match=r"tp = 6, 1 ranks apart, lies unevenly on nodes"):
        layout_or_nearest(uneven, 48, per_node=8)
    for changes in nearest(uneven, 48, 8):
        assert possible(uneven, 48, 8, changes)


def possible(tried: Job, p: int, per_node: int, changes) -> bool:
    changed = attrs.evolve(tried, **{k: v for k, v in changes.items() if k != "p"})
    try:
        members_of(changed, layout_of(changed, changes.get("p", p)), per_node)
    except ParcastError:
        return False
    return True


def faulty(seed: int) -> tuple[Job, int, int]:
    """Return a job of numbers that seldom go together, processes, and those of a node."""
    draw = random.Random(seed)
    return (
        Job(
            layers=draw.choice([5, 12, 24, 61]), hidden=512, sequence=draw.choice([96, 512]),
            heads=draw.choice([7, 12, 16]), kv_heads=draw.choice([None, 4]),
            experts=draw.choice([1, 6, 8]), active=draw.choice([1, 1, 2]),
            global_batch=draw.randint(1, 40), micro_batch=draw.choice([1, 2, 3]),
            tp=draw.choice([1, 2, 3, 4, 5]), pp=draw.choice([1, 2, 3, 4, 7]),
            cp=draw.choice([1, 1, 2, 5]), ep=draw.choice([1, 1, 2, 3]),
            interleave=draw.choice([1, 1, 2, 3]), sp=draw.choice([0, 1, 2]),
            zero=draw.choice([0, 1, 2, 5]), dp=draw.choice([None, None, 2]),
            schedule=draw.choice(["1f1b", "interleaved", "zero-bubble", "dualpipe"]),
            overlap_experts=draw.choice([False, False, True]),
        ),
        draw.choice([1, 4, 6, 8, 16, 48, 64]),
        draw.choice([1, 4, 8]),
    )  # fmt: skip


@pytest.mark.parametrize("seed", seeds(JOBS))
def test_each_layout_that_is_named_can_be_and_no_other_change_of_a_number_is_nearer(seed):
    tried, p, per_node = faulty(seed)
    if possible(tried, p, per_node, {}):
        assert layout_or_nearest(tried, p, per_node).size == p
        return
    named = nearest(tried, p, per_node)
    assert all(possible(tried, p, per_node, changes) for changes in named)
    single = [
        {name: value}
        for name in ("tp", "pp", "cp", "ep", "interleave", "micro_batch")
        for value in range(1, 9)
        if possible(tried, p, per_node, {name: value})
    ]
    if single:
        least = min(far(tried, p, changes) for changes in single)
        assert far(tried, p, named[0]) <= least + 1e-12


def far(tried: Job, p: int, changes) -> float:
    """Return the doublings of all numbers that change, and a half for each."""
    total = 0.0
    for name, value in changes.items():
        before = p if name == "p" else getattr(tried, name)
        if name in {"sp", "zero", "offload"}:
            total += abs(value - before)
        else:
            words = {"schedule", "overlap_experts"}
            total += 1 if name in words else abs(math.log2(value / before))
    return total + len(changes) / 2
