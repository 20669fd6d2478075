"""The numbers, beside a numerical minimum in exact arithmetic and a plain simulation."""

from __future__ import annotations

import math
import random
from decimal import Decimal, getcontext
from typing import Any

import parcast_daly
import pytest
from hypothesis import given
from hypothesis import strategies as st
from parcast_daly.intervals import daly, optimum, young

from parcast import Registry
from parcast.errors import FileError

REGISTRY = Registry([parcast_daly])
times = st.floats(1e-3, 1e3)


def machine(**failures: Any) -> dict[str, Any]:
    """Return one process's machine, where a second is an operation or a byte."""
    return {
        "name": "m",
        "processor": {"rate": 1},
        "storage": {"bandwidth": 1},
        "failures": {"node_mtbf": 100, **failures},
    }


def job(**keys: Any) -> dict[str, Any]:
    return {"name": "j", "kind": "checkpointed", "flops": 1000, "state": 2, **keys}


def answer(workload: dict[str, Any], on: dict[str, Any], **settings: Any) -> Any:
    return REGISTRY.predict(workload, on, "daly", p=1, settings=settings)


def decimal_cost(interval: Decimal, checkpoint: float, mtbf: float) -> Decimal:
    """Return the expected time of a second of work, in 50 digits."""
    m, c = Decimal(mtbf), Decimal(checkpoint)
    return m * (((interval + c) / m).exp() - 1) / interval


def numerical_minimum(checkpoint: float, mtbf: float) -> float:
    """Return the interval of the least cost, by comparing costs alone (golden sections)."""
    getcontext().prec = 50
    golden = (Decimal(5).sqrt() - 1) / 2
    low, high = Decimal(mtbf) * Decimal("1e-9"), Decimal(mtbf) * 2
    while high - low > high * Decimal("1e-14"):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if decimal_cost(left, checkpoint, mtbf) < decimal_cost(right, checkpoint, mtbf):
            high = right
        else:
            low = left
    return float((low + high) / 2)


@given(checkpoint=times, mtbf=times)
def test_the_optimum_is_the_numerical_minimum(checkpoint: float, mtbf: float) -> None:
    assert optimum(checkpoint, mtbf) == pytest.approx(numerical_minimum(checkpoint, mtbf), rel=1e-8)


@given(mtbf=times, ratio=st.floats(1e-6, 0.5))
def test_the_published_estimates_are_as_close_as_daly_says(mtbf: float, ratio: float) -> None:
    """Young's first order, Daly's third: what they leave out shrinks as their next term."""
    checkpoint = ratio * mtbf
    best, first = optimum(checkpoint, mtbf), math.sqrt(2 * ratio)
    assert abs(young(checkpoint, mtbf) / best - 1) < first
    assert abs(daly(checkpoint, mtbf) / best - 1) < first**3


def test_a_long_checkpoint_has_the_interval_of_the_mtbf() -> None:
    assert daly(20, 10) == daly(500, 10) == 10


@given(checkpoint=times, mtbf=times, restart=st.floats(0, 10), work=st.floats(1, 1e5))
def test_no_other_number_of_segments_is_faster(
    checkpoint: float, mtbf: float, restart: float, work: float
) -> None:
    on = machine(node_mtbf=mtbf, restart=restart)
    prediction = answer(job(flops=work, state=checkpoint), on)
    if prediction.time is None:
        assert "never ends" in prediction.message
        return
    count = prediction.details["checkpoints"]
    for other in {1, max(1, count // 2), max(1, count - 1), count + 1, 2 * count}:
        time = answer(job(flops=work, state=checkpoint, interval=work / other), on).time
        assert time is None or time >= prediction.time * (1 - 1e-12)
    assert prediction.parts.total == pytest.approx(prediction.time)


def simulate(work: float, checkpoint: float, restart: float, mtbf: float, seed: int) -> list[float]:
    """Return the times of compute, I/O and restarts of one run, failure by failure."""
    draw = random.Random(seed)
    failure, spent = draw.expovariate(1 / mtbf), [0.0, 0.0, 0.0]
    stages = [(0, work), (1, checkpoint)]
    while stages:
        kind, length = stages.pop(0)
        if length <= failure:
            failure -= length
            spent[kind] += length
            continue
        spent[kind] += failure
        failure = draw.expovariate(1 / mtbf)
        stages = [(2, restart), (0, work), (1, checkpoint)]
    return spent


@pytest.mark.parametrize(
    ("work", "checkpoint", "restart", "mtbf"), [(50, 5, 8, 100), (10, 10, 0, 20), (3, 1, 30, 15)]
)
def test_a_simulation_of_a_segment_has_the_same_mean(
    work: float, checkpoint: float, restart: float, mtbf: float
) -> None:
    runs = [simulate(work, checkpoint, restart, mtbf, seed) for seed in range(20_000)]
    prediction = answer(
        job(flops=work, state=checkpoint, interval=work), machine(node_mtbf=mtbf, restart=restart)
    )
    parts = (prediction.parts.compute, prediction.parts.io, prediction.parts.synchronization)
    for expected, drawn in [
        (prediction.time, [sum(run) for run in runs]),
        *((part, [run[kind] for run in runs]) for kind, part in enumerate(parts)),
    ]:
        mean = sum(drawn) / len(drawn)
        variance = sum((value - mean) ** 2 for value in drawn) / len(drawn)
        assert abs(mean - expected) <= 4 * math.sqrt(variance / len(drawn)) + 1e-9


def test_the_nodes_of_a_job_fail_together() -> None:
    """Four processes on two nodes: half the mean time between failures, a quarter of the work."""
    on = {**machine(), "nodes": {"cores": 2}}
    prediction = REGISTRY.predict(job(), on, "daly", p=4)
    alone = answer(job(flops=250), machine(node_mtbf=50))
    assert prediction.time == pytest.approx(alone.time)


def test_formulas_read_p_and_parameters() -> None:
    workload = job(state="n * p B", interval="10 * p", parameters={"n": 3})
    prediction = REGISTRY.predict(workload, machine(), "daly", p=2)
    assert prediction.details["interval"] == 20
    assert prediction.details["young"] == pytest.approx(math.sqrt(2 * 6 * 50))


@pytest.mark.parametrize("rule", ["young", "daly"])
def test_an_option_chooses_the_published_interval(rule: str) -> None:
    prediction = answer(job(flops=1e6), machine(), **{"daly.interval": rule})
    assert prediction.details["interval"] == pytest.approx(prediction.details[rule], rel=1e-4)
    assert prediction.time >= answer(job(flops=1e6), machine()).time


@pytest.mark.parametrize(
    ("workload", "on", "status", "sentence"),
    [
        (
            job(),
            {"name": "m", "processor": {"rate": 1}},
            "refused",
            "states no [failures]; add its node_mtbf",
        ),
        (job(state="1 - p"), machine(), "invalid", "state = '1 - p' at p=1, d=1: 0"),
        (job(flops="1 / (p - 1)"), machine(), "invalid", "flops = '1 / (p - 1)' at p=1"),
        (job(state=1e6), machine(node_mtbf=1), "invalid", "take fewer nodes"),
        (job(), machine(node_mtbf=1 / 128, restart=5), "invalid", "take fewer nodes"),
    ],
)
def test_what_has_no_answer_says_why(
    workload: dict[str, Any], on: dict[str, Any], status: str, sentence: str
) -> None:
    prediction = answer(workload, on)
    assert (prediction.status.value, sentence in prediction.message) == (status, True), (
        prediction.message
    )


def test_a_wrong_unit_names_the_key() -> None:
    with pytest.raises(FileError, match=r"failures\.node_mtbf: '5 MB' is in B, not in s"):
        REGISTRY.machine(machine(node_mtbf="5 MB"))
