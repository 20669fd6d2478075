"""Computations on accelerators: by hand, refused in one sentence, and unlike those they are not."""

import numpy as np
import pytest

from parcast import Query, Registry, UnsupportedError
from parcast.errors import FileError
from parcast.model.numbers import improved, numbers_of
from parcast.program.matching import matched_program
from parcast.program.reader import read_source

ACCELERATOR = {
    "name": "test",
    "per_node": 2,
    "memory": "80 GB",
    "memory_bandwidth": "2 TB/s",
    "rates": {"bf16": "100 TFLOP/s", "fp64": "10 TFLOP/s"},
    "efficiency": [
        {"kind": "gemm", "share": 0.5},
        {"kind": "gemm", "least": 1e12, "share": 0.8},
        {"kind": "gemm", "precision": "fp64", "share": 0.9},
        {"kind": "memory", "share": 0.25},
        {"kind": "memory", "least": 1e9, "share": 0.75},
    ],
    "links": {"bandwidth": "300 GB/s", "startup": "2 us", "domain": 8},
}


def machine(**changes):
    nodes = {"cores": 4, **changes.pop("nodes", {})}
    return Registry([]).machine(
        {"name": "m", "nodes": nodes, "accelerator": {**ACCELERATOR, **changes}}
    )


def seconds(body, p=1, on=None, **options):
    """Return how long each process of a program computes."""
    source = f"def program(rank, size):\n    {body}\n"
    workload = read_source(source, "w.py", "w")
    query = Query(workload=workload, machine=on or machine(), p=p, d=1, **options)
    unrolled = matched_program(query, pools=True).unrolled
    return [sum(op.arguments["seconds"] for op in listed) for listed in unrolled.by_rank()]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("compute(1e11, on='gpu', precision='bf16')", 1e11 / (100e12 * 0.5)),
        ("compute(1e12, on='gpu', precision='bf16')", 1e12 / (100e12 * 0.8)),
        ("compute(1e12, on='gpu', precision='bf16', kind='attention')", 1e12 / (100e12 * 0.8)),
        ("compute(1e12, on='gpu')", 1e12 / (10e12 * 0.9)),
        ("compute(0, 1e6, on='gpu', precision='fp8')", 1e6 / (2e12 * 0.25)),
        ("compute(1e3, 1e9, on='gpu')", 1e9 / (2e12 * 0.75)),
        ("compute(0, on='gpu')", 0.0),
    ],
)
def test_a_roofline_by_hand(call, expected):
    assert seconds(call) == [pytest.approx(expected, rel=1e-14)]


def test_attention_has_a_share_of_its_own():
    steps = [*ACCELERATOR["efficiency"], {"kind": "attention", "share": 0.4}]
    call = "compute(1e12, on='gpu', precision='bf16', kind='attention')"
    assert seconds(call, on=machine(efficiency=steps)) == [pytest.approx(1e12 / 40e12)]


@pytest.mark.parametrize(("shares", "reached"), [((), 1.0), ((("memory", 0.8),), 0.8)])
def test_pointwise_kernels_have_a_share_of_their_own(shares, reached):
    call = "compute(0, 1e12, on='gpu', kind='pointwise')"
    steps = [{"kind": kind, "share": share} for kind, share in shares]
    assert seconds(call, on=machine(efficiency=steps)) == [pytest.approx(0.5 / reached)]
    steps.append({"kind": "pointwise", "share": 0.25})
    assert seconds(call, on=machine(efficiency=steps)) == [pytest.approx(2.0)]


def test_processes_of_one_accelerator_share_it():
    """Three processes on a node of two accelerators: the first and the third share one."""
    call = "compute(9e12 * (rank + 1), on='gpu')"
    assert seconds(call, 3) == pytest.approx([2.0, 2.0, 6.0])
    assert seconds(call, 3, mapping="cyclic", on=machine(nodes={"count": 3})) == pytest.approx(
        [1.0, 2.0, 3.0]
    )


def test_seconds_are_those_of_arrays():
    accelerator = machine().accelerator
    flops, moved = np.array([1e6, 1e12, 0]), np.array([1e9, 1.0, 1e3])
    both = zip(flops, moved, strict=True)
    single = [float(accelerator.seconds(f, b, precision="bf16", kind="gemm")) for f, b in both]
    assert accelerator.seconds(flops, moved, precision="bf16", kind="gemm").tolist() == single


def test_rates_are_a_mapping_of_those_stated():
    assert dict(machine().accelerator.rates) == {"fp64": 1e13, "bf16": 1e14}
    assert "fp8" not in machine().accelerator.rates


@pytest.mark.parametrize(
    ("call", "p", "sentence"),
    [
        ("compute(1, on='gpu', precision='fp8')", 1, "states no rate in fp8; it has fp64, bf16"),
        (
            "for task in pool(range(3)):\n        compute(1, on='gpu')",
            3,
            "a task computes on an accelerator, which 1 to 2 processes share here",
        ),
    ],
)
def test_refused(call, p, sentence):
    with pytest.raises(UnsupportedError, match=r"w\.py:[23]: ") as error:
        seconds(call, p)
    assert sentence in str(error.value)


def test_a_machine_without_one_is_refused():
    without = Registry([]).machine({"name": "plain", "processor": {"rate": 1}})
    with pytest.raises(UnsupportedError, match=r"w\.py:2: .* machine 'plain' states none; state"):
        seconds("compute(1, on='gpu')", on=without)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("compute(1, on='tpu')", "on of compute() must be 'cpu' or 'gpu', written out"),
        ("compute(1, on='comm')", "written out; a stream is a process of its own"),
        ("compute(1, on=1)", "on of compute() must be 'cpu' or 'gpu', written out"),
        ("compute(1, precision='bf16')", "precision of compute() is of an accelerator; add on="),
        ("compute(1, on='cpu', kind='gemm')", "kind of compute() is of an accelerator; add on="),
        ("compute(1, on='gpu', precision='bf17')", "'fp4' or 'int8', written out"),
    ],
)
def test_programs_that_are_refused(call, sentence):
    with pytest.raises(FileError, match=r"w\.py:2: ") as error:
        seconds(call)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rates": {}}, "accelerator.rates: states no rate; give those it has"),
        ({"rates": {"bf17": 1}}, "unknown key 'accelerator.rates.bf17'. Did you mean 'bf16'?"),
        ({"rates": {"bf16": "1 GB/s"}}, "accelerator.rates.bf16: "),
        ({"rates": 3}, "accelerator.rates: 3 must be a table"),
        ({"per_node": 0}, "accelerator.per_node: 0 must be 1 or more"),
        ({"memory": "0 GB"}, "accelerator.memory: "),
        ({"efficiency": [{"share": 1.5}]}, "accelerator.efficiency[0].share: "),
        (
            {"efficiency": [{"share": 0.5, "least": 5}]},
            "the first share of kind 'gemm' holds from least = 5; say what holds from least = 0",
        ),
        (
            {"efficiency": [{"share": 0.5}, {"share": 0.6}]},
            "least = 0 of kind 'gemm' follows 0; write them in ascending order, each once",
        ),
        (
            {"efficiency": [{"share": 0.5, "precision": "fp8"}]},
            "accelerator test states no rate in fp8; it has fp64, bf16",
        ),
        ({"links": {"bandwidth": "1 s"}}, "accelerator.links.bandwidth: "),
    ],
)
def test_files_that_are_refused(changes, sentence):
    with pytest.raises(FileError) as error:
        machine(**changes)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_its_numbers_are_among_those_that_decide():
    paths = [path for path in numbers_of(machine()) if path.startswith("accelerator.")]
    assert paths == [
        *("accelerator.memory_bandwidth", "accelerator.rates.fp64", "accelerator.rates.bf16"),
        *("accelerator.links.bandwidth", "accelerator.links.startup"),
    ]
    twice = improved(machine(), ["accelerator.rates.bf16"], 2)
    assert dict(twice.accelerator.rates) == {"fp64": 1e13, "bf16": 2e14}


def test_a_program_is_shown_without_a_machine():
    """Its operations and messages are looked at on a machine that states nothing."""
    workload = read_source("def program(rank, size):\n    compute(1, on='gpu')\n", "w.py", "w")
    empty = Registry([]).machine({"name": "empty", "nodes": {"cores": 1}})
    workload.content.check(Query(workload=workload, machine=empty, p=2, d=1))
