"""Simulation files with open classes: as JMT means them, and refused where nothing is exact."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from parcast.cli import main
from parcast.errors import ParcastError
from parcast_spmd import network_files
from parcast_spmd.jmt.jsimg import network_from_jsimg
from parcast_spmd.mixed.solve import solve_mixed

DATA = Path(__file__).parent / "data"
MIXED, FORKS = ((DATA / f"{name}.jsimg").read_text() for name in ("mixed", "forks"))


def solved(text):
    return solve_mixed(network_from_jsimg(ET.fromstring(text), "x"))


def test_open_classes_that_change_on_the_way_visit_as_often_as_by_hand():
    """A web job leaves the bus to think, to the log or out; a quarter of the logged retries."""
    solution = solved(MIXED)
    web, retry = 0.8 * 1.5, 0.8 * 1.5 / 3 / 4
    assert solution.visit_rate["Bus"][::2] == pytest.approx((web, retry))
    assert solution.visit_rate["Think"][0] == pytest.approx(web / 3)
    assert solution.utilization["Bus"][::2] == pytest.approx((web / 2 / 2, retry / 4 / 2))
    assert solution.throughput[::2] == (pytest.approx(0.8), 0.0)
    total = sum(sum(row[::2]) for row in solution.queue_length.values())
    assert solution.cycle_time[0] == pytest.approx(total / 0.8)


def test_closed_jobs_beside_open_ones_are_as_a_chain_of_births_and_deaths():
    """Shares of two servers depend on means alone: open jobs count as one class of their work."""
    solution = solved(MIXED)
    rate, work, mean, think, most = 1.3, 0.8 * 1.5 / 2 + 0.025, 1 / 3 + 0.25, 5.0, 150
    matrix = np.zeros((4 * (most + 1),) * 2)
    for n, m in product(range(4), range(most + 1)):
        at, share = n * (most + 1) + m, min(n + m, 2) / max(n + m, 1)
        for to, speed in (
            ((n, m + 1), rate * (m < most)), ((n, m - 1), m * share * rate / work),
            ((n + 1, m), (3 - n) / think), ((n - 1, m), n * share / mean),
        ):  # fmt: skip
            if speed:
                matrix[to[0] * (most + 1) + to[1], at] += speed
                matrix[at, at] -= speed
    matrix[-1] = 1
    chances = np.linalg.solve(matrix, np.eye(len(matrix))[-1]).reshape(4, -1)
    batch = chances.sum(axis=1) @ np.arange(4)
    assert solution.queue_length["Bus"][1] == pytest.approx(batch, rel=1e-8)
    opened = chances.sum(axis=0) @ np.arange(most + 1)
    assert sum(solution.queue_length["Bus"][::2]) == pytest.approx(opened, rel=1e-7)


def test_two_equal_branches_of_a_fork_are_exact_and_others_lie_within_bounds():
    solution = solved(FORKS)
    assert solution.cycle_time == pytest.approx((2 + (12 - 0.5) / 8 * 2,))
    head, right = FORKS.split('<node name="Right">')
    faster = solved(f'{head}<node name="Right">{right.replace("<value>1.0<", "<value>2.0<", 1)}')
    assert faster.cycle_time == (None,)
    assert faster.cycle_time_lower == pytest.approx((2 + 2,))
    low, high = 2.0, 1 / 1.5
    assert faster.cycle_time_upper == pytest.approx((2 + low + high - 1 / (0.5 + 1.5),))


def region(limit, drop="true", extra=""):
    return (
        f'<blockingRegion name="r" type="default"><regionNode nodeName="Front"/>{extra}'
        f'<globalConstraint maxJobs="{limit}"/><dropRules dropThisClass="{drop}" jobClass="job"/>'
        "</blockingRegion></sim>"
    )


def test_a_region_of_one_station_is_its_room():
    """M/M/1/2, alone: the forks after it get no Poisson process."""
    alone = FORKS.replace('source="Front" target="Split"', 'source="Front" target="Out"')
    solution = solved(alone.replace("</sim>", region(2)))
    weights = [1, 0.5, 0.25]
    assert solution.loss["Front"] == pytest.approx(0.25 / sum(weights))
    assert solution.queue_length["Front"] == pytest.approx((1.0 / sum(weights),))
    assert solved(alone.replace("</sim>", region(-1))).loss == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FORKS.replace("</sim>", region(2)), "fed by what 'Front' does not lose"),
        (FORKS.replace("</sim>", region(2, "false")), "limits the jobs in 'Front'"),
        (FORKS.replace("</sim>", region(2, extra='<regionNode nodeName="Left"/>')), "'Left'"),
        (FORKS.replace("</sim>", region(0)), "its limit is 0"),
        (FORKS.replace("NormalJoin", "PartialJoin"), "join of 'job' is by 'PartialJoin'"),
        (FORKS.replace("ProbabilitiesFork", "ClassSwitchFork"), "fork of 'job' is by"),
        (FORKS.replace('source="Left" target="Meet"', 'source="Left" target="Out"'),
         "before their join"),
        (FORKS.replace('name="lambda"', 'name="t"').replace("Exponential", "DeterministicDistr")
         .replace(">0.5<", ">2.5<"),
         "no Poisson process"),
        (FORKS.replace('referenceSource="In"', 'referenceSource="Left"'), "is no source"),
        (MIXED.replace("RandomStrategy", "RoundRobinStrategy"), "by 'RoundRobinStrategy'"),
        (MIXED.replace(">0.25<", ">0.5<", 1), "change of 'web': the probabilities sum to 1.25"),
        (MIXED.replace(">-1<", ">4<", 2), "limits its queue|room for 4 jobs"),
        (MIXED.replace("<value>0.8<", "<value>9<"), "no steady state"),
        (MIXED.replace('customers="3"', 'customers="1000000000"'), "vectors of populations"),
        (MIXED.replace(">2</value>", ">1000000000</value>", 1), "1,000,000,000 servers"),
        (MIXED.replace('className="PSServer"', 'className="Storage"'), "a Petri net's part"),
        (MIXED.replace('name="Think"', 'name="Bus"'), "used twice"),
        ("<archive><sim/></archive>", "has no classes"),
    ],
)  # fmt: skip
def test_what_has_no_exact_solution_is_refused(text, words):
    with pytest.raises(ParcastError, match=words) as caught:
        solved(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["mixed", "forks"])
def test_cut_off_files_are_refused(name, tmp_path):
    text, path = (DATA / f"{name}.jsimg").read_bytes(), tmp_path / "x.jsimg"
    for end in range(0, len(text) - 20, 1501):
        path.write_bytes(text[:end])
        with pytest.raises(ParcastError):
            network_files.read(path)


def test_the_command_prints_open_networks(capsys):
    assert main(["spmd", "network", str(DATA / "mixed.jsimg")]) == 0
    printed = capsys.readouterr().out
    assert "turn into one another" in printed
    assert "convolution" in printed
    assert main(["spmd", "network", str(DATA / "mixed.jsimg"), "-o", "x.jmva"]) == 2
    assert "leave -o out" in capsys.readouterr().err


def test_priorities_count_only_where_a_station_looks_at_them():
    text = MIXED.replace('priority="0"', 'priority="3"', 1)
    assert text != MIXED
    assert solved(text) == solved(MIXED)
    with pytest.raises(ParcastError, match="QueuePutStrategy is not one"):
        solved(text.replace("TailStrategy", "TailStrategyPriority"))
    assert solved(MIXED.replace("TailStrategy", "TailStrategyPriority")) == solved(MIXED)
