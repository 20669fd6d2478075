"""Tasks that send to who takes their messages from anybody: all who follow them agree."""

from __future__ import annotations

import re
from random import Random

import attrs
import pytest

from parcast import Registry
from parcast.testing import random_program, seeds

from .enough_seeds import seeds_until
from .references import assert_as_in_fractions, assert_equal_in_every_bit


def sending(seed, contention, **options):
    """Return a random program whose pools have tasks that send, or None where it has no pool."""
    made = random_program(seed, contention=contention, pools=True, **options)
    random, lines, tag = Random(f"sends of {seed}"), made.source.splitlines(), 1000
    size = 0 if made.costs.eager_limit < 64 else 64
    for index in reversed([n for n, line in enumerate(lines) if "in pool(" in line]):
        inside = len(lines[index]) - len(lines[index].lstrip())
        around = lines[index - 1]
        outer = len(around) - len(around.lstrip())
        outer = outer if around.lstrip().startswith("if rank") and outer < inside else inside
        end = next(
            n for n in range(index + 1, len(lines) + 1)
            if n == len(lines) or len(lines[n]) - len(lines[n].lstrip()) <= inside
        )  # fmt: skip
        tasks, to, tag = int(re.search(r"range\((\d+)\)", lines[index])[1]), made.size, tag + 1
        to = random.randrange(made.size)
        receives = [f"if rank == {to}:", f"    for k in range({tasks}):"]
        receives.append(f"        recv(ANY, {tag})")
        lines[end:end] = [" " * outer + line for line in receives]
        place = random.choice([index + 1, end])
        lines.insert(place, " " * (inside + 4) + f"send({to}, {size} * (task % 2), {tag})")
    if tag == 1000:
        return None
    return attrs.evolve(made, source="\n".join(lines) + "\n")


@pytest.mark.parametrize("contention", ["none", "endpoint", "bus"])
def test_references_and_emulator_are_equal_in_every_bit(contention, programs):
    compared = 0
    for seed in seeds_until(programs // 4, lambda: compared > programs // 20):
        made = sending(seed, contention, masters=seed % 2 > 0, network=seed % 3 > 0)
        if made is None:
            continue
        compared += 1
        assert_equal_in_every_bit(made)
    assert compared > programs // 20


def test_where_links_are_shared_all_are_as_in_fractions(programs):
    for seed in seeds(programs // 4):
        made = sending(seed, "fair", masters=seed % 2 > 0)
        if made is None:
            continue
        assert_as_in_fractions(made)


def test_every_family_follows_or_says_why_not():
    source = """
def program(rank, size, n=8):
    if rank > 0:
        for task in pool(range(n)):
            compute(1e6)
            send(0, 8, 1)
    else:
        for k in range(n):
            recv(ANY, 1)
"""
    registry = Registry()
    machine = registry.machine(
        {"name": "m", "processor": {"rate": 1e9}, "network": {"startup": 1e-5, "bandwidth": 1e9}}
    )
    from parcast.program.reader import read_source

    rows = registry.compare(
        read_source(source),
        machine,
        p=5,
        solvers=["emulator", "perturb", "pamela", "petri", "spmd"],
    ).rows
    by_family = {row.solver.partition(".")[0]: row for row in rows}
    assert by_family["perturb"].time == pytest.approx(by_family["emulator"].time, rel=1e-12)
    assert by_family["pamela"].time <= by_family["emulator"].time
    assert "a task sends a message, and no net here knows" in by_family["petri"].message
