"""Matrix products by shape: tables and lines that are read, and the shares that they make."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from parcast import Registry
from parcast.errors import FileError
from parcast.model.accelerator import Accelerator, Efficiency, Rates
from parcast_machines_from.estimating.machine import estimate
from parcast_machines_from.reading import read_file
from parcast_machines_from.records import Reading

AICONFIGURATOR = """\
framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
X,1,Accelerator 80GB,gemm,one,bfloat16,1024,2048,4096,0.5
X,1,Accelerator 80GB,gemm,one,int4_wo,1024,2048,4096,0.25
X,1,Accelerator 80GB,bmm,one,bfloat16,1024,2048,4096,9
"""
ROCBLAS = """\
$ ./rocblas-bench -f gemm_ex -r bf16_r -m 1024 -n 2048 -k 4096
transA,transB,M,N,K,alpha,lda,beta,ldb,ldc,rocblas-Gflops,us
N,T,1024,2048,4096,1,4000,0,4000,4000, 97190.6, 500
"""
HIPBLASLT = """\
[0]:transA,transB,batch_count,m,n,k,a_type,compute_type,hipblaslt-Gflops,us,CPU-Gflops,CPU-us
    N,N,2,1024,2048,2048,f16_r,f32_r,590,500,1,1
    --Solution index: 300662
"""
DEEPBENCH = """\
    m       n      k      a_t     b_t      precision        time (usec)
   1024    2048   4096     0       0        half            500
"""
SCOUT = "** Dtype: torch.bfloat16\n     1  1024x2048x4096   34.0  34.36  36.0  34.0\n"
TRIED = "mamf-finder.py --dtype bfloat16\n  median: 34.36 TFLOPS @ 1024x2048x4096 (MxNxK)\n"
FLOPS = 2.0 * 1024 * 2048 * 4096


def reading_of(folder: Path, text: str) -> Reading:
    file = folder / "products.txt"
    file.write_text(text)
    return read_file(file)


@pytest.mark.parametrize(
    ("text", "precision", "moved"),
    [
        (AICONFIGURATOR, "bf16", 29_360_128),
        (ROCBLAS, "bf16", 29_360_128),
        (HIPBLASLT, "fp16", 33_554_432),
        (DEEPBENCH, "fp16", 29_360_128),
        (SCOUT, "bf16", 29_360_128),
        (TRIED, "bf16", 29_360_128),
    ],
)
def test_a_product_is_read_from_each_benchmark(tmp_path, text, precision, moved):
    (series,) = reading_of(tmp_path, text).series
    (value,) = series.values
    assert (series.benchmark, series.precision, series.memory) == ("products", precision, "device")
    assert value.size == FLOPS
    assert value.moved == moved
    assert value.value == pytest.approx(5e-4, rel=1e-3)


def test_what_is_left_out_is_told_and_what_is_missing_is_refused(tmp_path):
    reading = reading_of(tmp_path, AICONFIGURATOR)
    assert "1 products in int4_wo are of no precision" in reading.notes[0]
    facts = {fact.key: fact.value for fact in reading.facts}
    assert facts == {"accelerator.name": "Accelerator 80GB", "accelerator.memory": 80 * 10**9}
    with pytest.raises(FileError, match=r"products\.txt:2: nothing says in which precision"):
        reading_of(tmp_path, "m,n,k,us\n16,16,16,3\n")
    with pytest.raises(FileError, match=r"products\.txt:2: 3 cells stand below 5 heads"):
        reading_of(tmp_path, "m,n,k,dtype,us\n16,16,16\n")
    with pytest.raises(FileError, match="n is 'x', and must be a number"):
        reading_of(tmp_path, "m,n,k,dtype,us\n16,x,16,bf16,3\n")


TRUE = Accelerator(
    memory=8e10,
    memory_bandwidth=2e12,
    rates=Rates(bf16=3e14),
    efficiency=(
        Efficiency(kind="gemm", share=0.2),
        Efficiency(kind="gemm", least=1e10, share=0.5),
        Efficiency(kind="gemm", least=1e12, share=0.8),
        Efficiency(kind="memory", share=0.25),
        Efficiency(kind="memory", least=1e8, share=0.75),
    ),
)


def synthetic(seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random shapes and their seconds on an accelerator of known shares."""
    shapes = 2.0 ** np.random.default_rng(seed).integers(4, 16, (count, 3))
    m, n, k = shapes.T
    moved = 2 * (m * k + k * n + m * n)
    return shapes, TRUE.seconds(2 * m * n * k, moved, precision="bf16")


@pytest.mark.parametrize("on", [True, False])
def test_shares_of_an_accelerator_come_back_from_its_own_products(tmp_path, on):
    shapes, times = synthetic(1, 3000)
    rows = np.column_stack([shapes, times]).tolist()
    lines = [f"{m:.0f},{n:.0f},{k:.0f},bf16,{s!r}" for m, n, k, s in rows]
    reading = reading_of(tmp_path, "\n".join(["m,n,k,dtype,seconds", *lines, ""]))
    registry = Registry()
    base = dict(registry.machine("a100-hdr").data)
    base["accelerator"] = {
        **base["accelerator"], "memory": TRUE.memory, "memory_bandwidth": TRUE.memory_bandwidth,
        "rates": {"bf16": TRUE.rates["bf16"]},
    }  # fmt: skip
    others = registry.machine(base)
    result = estimate(reading, "fitted", {}, others if on else None)
    if not on:
        assert any(item.startswith("accelerator.memory: ") for item in result.open)
        return
    accelerator = registry.machine(result.data).accelerator
    assert accelerator is not None
    assert accelerator.units is None
    kinds = {step.kind for step in accelerator.efficiency}
    assert kinds == {"gemm", "memory", "attention", "pointwise"}
    judged, seconds = synthetic(2, 500)
    m, n, k = judged.T
    moved = 2 * (m * k + k * n + m * n)
    predicted = accelerator.seconds(2 * m * n * k, moved, precision="bf16")
    assert np.median(np.abs(predicted / seconds - 1)) < 0.01
    assert np.quantile(np.abs(predicted / seconds - 1), 0.9) < 0.35
