"""A step and its machine as the three files that Calculon reads: application, execution, system.

Calculon (Isaev, McDonald, Dennison, Vuduc, SC 2023) has operations and bytes of a layer's kernels,
steps of efficiency by their size, and one latency and bandwidth for each of two networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from parcast.model import Efficiency, Query
from parcast_training.steps.asking import accelerator_of, hops_of
from parcast_training.steps.job import Job
from parcast_training.steps.job_settings import job_at
from parcast_training.steps.layout import layout_of
from parcast_training.steps.segments import Hop

#: What Calculon calls a precision; sums, and so vectors, are in fp32 here.
_DATATYPES = {"fp16": "float16", "bf16": "bfloat16", "fp8": "float8", "fp32": "float32"}

#: What Calculon calls what is computed again.
_RECOMPUTE = {"none": "none", "selective": "attn_only", "full": "full"}

#: A message of so many bytes is all bandwidth.
_LARGE = 1e9

#: Bytes that rings send and receive, over the size: a factor, and per participant.
_RINGS = {
    "p2p": [1.0, None],
    "reduce_scatter": [1.0, -1],
    "all_gather": [1.0, -1],
    "all_reduce": [2.0, -1],
}


def lacking(job: Job) -> Iterator[str]:
    """Yield what of a job Calculon does not have, with the setting that goes without."""
    for name, does_not, without in (
        ("attention", job.attention == "flash", "'unfused'"),
        ("gated", job.gated, "false"),
        ("experts", job.experts > 1, "1"),
        ("lora", bool(job.lora), "0"),
        ("kv_rank", bool(job.kv_rank), "0"),
        ("value_dim", job.output_width != job.query_width, str(job.plain_dim)),
        ("window", bool(job.window), "0"),
        ("mtp", bool(job.mtp), "0"),
        ("first_layers", bool(job.first_layers), "0"),
        ("last_layers", bool(job.last_layers), "0"),
        ("cp", job.cp > 1, "1"),
        ("kv_heads", (job.kv_heads or job.heads) not in {1, job.heads}, f"1 or {job.heads}"),
        ("zero", job.zero > 1, "0 or 1"),
        ("offload", bool(job.offload), "0"),
        ("checkpoint_every", bool(job.checkpoint_every), "0"),
        ("schedule", job.schedule in {"zero-bubble", "dualpipe"}, "'1f1b' or 'interleaved'"),
        ("precision", job.precision not in _DATATYPES, f"one of {', '.join(_DATATYPES)}"),
    ):
        if does_not:
            yield f"Calculon has no {name} = {getattr(job, name)!r}; it has {without}"


def application(job: Job) -> dict[str, Any]:
    """Return the model."""
    return {
        "hidden": job.hidden,
        "feedforward": job.ffn_width,
        "seq_size": job.sequence,
        "attn_heads": job.heads,
        "attn_size": job.plain_dim,
        "num_blocks": job.layers,
    }


def execution(query: Query, domain: int) -> dict[str, Any]:
    """Return the layout, whose groups use the first network where they are within ``domain``.

    With sequence parallelism inputs are gathered once more in the backward pass, as Megatron does
    (arXiv 2205.05198, section 4.2.2), unless all is recomputed.
    """
    job = job_at(query)
    layout = layout_of(job, query.p)
    reach = layout.tp, layout.tp * layout.dp, query.p
    tensor, data, pipeline = (int(ranks > domain) for ranks in reach)
    return {
        "num_procs": query.p,
        "tensor_par": layout.tp,
        "pipeline_par": layout.pp,
        "data_par": layout.dp,
        "tensor_par_net": tensor,
        "pipeline_par_net": pipeline,
        "data_par_net": data,
        "batch_size": job.global_batch,
        "microbatch_size": job.micro_batch,
        "datatype": _DATATYPES[job.precision],
        "fused_activation": True,
        "attention_type": "multiquery" if (job.kv_heads or job.heads) < job.heads else "multihead",
        "activation_recompute": _RECOMPUTE[job.recompute],
        "pipeline_interleaving": layout.chunks,
        "optimizer_sharding": bool(job.zero) and layout.dp > 1,
        "tensor_par_comm_type": "rs_ag" if job.sp else "ar",
        "tensor_par_overlap": "none",
        "seq_par_ag_redo": bool(job.sp) and job.recompute != "full",
        "data_par_overlap": job.overlap_gradients and layout.dp > 1,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }


def system(query: Query) -> dict[str, Any]:
    """Return the machine: rooflines of its accelerators, rings over links and between nodes."""
    accelerator, job = accelerator_of(query), job_at(query)
    datatype = _DATATYPES[job.precision]
    vectors = accelerator.rates.get("fp32", accelerator.rate(job.precision))
    memory = {
        "GiB": accelerator.memory / 2**30,
        "GBps": accelerator.memory_bandwidth / 1e9,
        "MB_efficiency": _steps(accelerator.steps("pointwise"), 1e6),
    }
    return {
        "matrix": {
            datatype: {
                "tflops": accelerator.rate(job.precision) / 1e12,
                "gflops_efficiency": _steps(accelerator.steps("gemm", job.precision), 1e9),
            }
        },
        "vector": {datatype: {"tflops": vectors / 1e12, "gflops_efficiency": [[0, 1.0]]}},
        "mem1": memory,
        "mem2": memory,  # of the node: nothing is offloaded
        "processing_mode": "roofline",
        "networks": [
            _network(query, accelerator.per_node, 1),
            _network(query, max(query.p, accelerator.per_node), accelerator.per_node),
        ],
    }


def _steps(steps: Iterable[Efficiency], unit: float) -> list[tuple[float, float]]:
    """Return sizes with the share of the peak from there on, the largest first."""
    descending = [(step.least / unit, step.share) for step in steps][::-1]
    return descending or [(0.0, 1.0)]


def _network(query: Query, size: int, apart: int) -> dict[str, Any]:
    """Return the network that a rank and the one ``apart`` places further share."""
    latency, bandwidth = _line(query, min(apart, query.p - 1))
    return {
        "bandwidth": bandwidth / 1e9,
        "efficiency": 1.0,
        "size": size,
        "latency": latency,
        "ops": _RINGS,
        "must_be_filled": False,
        "processor_usage": 0.0,
    }


def _line(query: Query, other: int) -> tuple[float, float]:
    """Return the latency and the bandwidth of messages to another rank."""
    if not other:
        return 0.0, _LARGE
    empty, large = (_seconds(hops_of(query)(0, other, size)) for size in (0.0, _LARGE))
    return empty, _LARGE / (large - empty)


def _seconds(hop: Hop) -> float:
    return hop.send + hop.wire + hop.receive


def domain_of(described: Mapping[str, Any]) -> int:
    """Return how many accelerators the first network of a system joins."""
    return int(described["networks"][0]["size"])
