"""Random training jobs on small machines, with every choice that a job has."""

from __future__ import annotations

import random
from typing import Any

from parcast import InvalidPointError, Query, Registry
from parcast.files import workload_from_data
from parcast_training.steps.asking import step_at
from parcast_training.steps.files import KIND

#: Schedules that put gradients of weights off.
PUTS_OFF = {"zero-bubble", "dualpipe"}


def random_machine(draw: random.Random) -> dict[str, Any]:
    """Return the data of a machine with nodes of a few accelerators."""
    per_node = draw.choice([1, 2, 4, 8])
    return {
        "name": "random",
        "nodes": {"count": 256, "cores": per_node},
        "network": {
            "startup": draw.choice([0, 1e-6, 2e-5]),
            "bandwidth": draw.choice([1e9, 2.5e10]),
            "overhead": draw.choice([0, 3e-6]),
            "overhead_receive": draw.choice([0, 1e-6]),
            "local": {"startup": draw.choice([0, 2e-6]), "bandwidth": draw.choice([5e10, 3e11])},
        },
        "storage": {
            "startup": draw.choice([0, 1e-3]),
            "bandwidth": 1e9,
            "disks": 3,
            "layout": draw.choice(["bus", "cluster"]),
        },
        "accelerator": {
            "per_node": per_node,
            "units": draw.choice([1, 108]),
            "memory": 8e10,
            "memory_bandwidth": 2e12,
            "host_bandwidth": draw.choice([1e9, 2.5e10, 1e13]),
            "rates": {"bf16": draw.choice([1e12, 3e14]), "fp8": 6e14},
            "efficiency": [
                {"kind": "gemm", "share": 0.5},
                {"kind": "gemm", "least": 1e8, "share": 0.8},
                {"kind": "memory", "share": 0.8},
            ],
        },
    }


def random_job(draw: random.Random) -> tuple[dict[str, Any], int]:
    """Return the data of a job, and its processes; not each can be."""
    pp, tp, cp = draw.choice([1, 2, 3, 4, 6]), draw.choice([1, 1, 2, 4]), draw.choice([1, 1, 1, 2])
    dp = draw.choice([1, 2, 4])
    interleave = draw.choice([1, 1, 2, 3]) if pp > 1 else 1
    experts = draw.choice([1, 1, 4])
    schedule = "interleaved" if interleave > 1 else draw.choice(["1f1b", "1f1b", "zero-bubble"])
    if pp % 2 == 0 and interleave == 1:
        schedule = draw.choice([schedule, "dualpipe"])
    micro, m = draw.choice([1, 2]), draw.choice([1, 2, 3, 5, 8])
    if interleave > 1:
        m = pp * draw.choice([1, 2, 3])
    if schedule == "dualpipe":
        m = 2 * pp + draw.choice([0, 2, 8])
    zero = draw.choice([0, 1] if schedule in PUTS_OFF else [0, 1, 2, 3])
    data = {
        "name": "random",
        "kind": "training",
        "layers": pp * interleave * draw.choice([1, 2, 4]),
        "hidden": draw.choice([256, 512]),
        "heads": 8,
        "kv_heads": draw.choice([8, 4]),
        "gated": draw.choice([True, False]),
        "vocabulary": draw.choice([512, 8192]),
        "tied": draw.choice([True, False]),
        "experts": experts,
        "active": draw.choice([1, 2]) if experts > 1 else 1,
        "sequence": draw.choice([128, 512]),
        "precision": draw.choice(["bf16", "fp8"]),
        "attention": draw.choice(["flash", "unfused"]),
        "dropout": draw.choice([True, False]),
        "global_batch": dp * micro * m,
        "micro_batch": micro,
        "tp": tp,
        "sp": draw.choice([0, 1]) if tp > 1 else 0,
        "pp": pp,
        "interleave": interleave,
        "schedule": schedule,
        "cp": cp,
        "ep": draw.choice([k for k in (1, 2, 4) if dp % k == 0 and experts % k == 0]),
        "dp": dp,
        "zero": zero,
        "offload": draw.choice([0, 0, 1]),
        "recompute": draw.choice(["none", "selective", "full"]),
        "overlap_gradients": draw.choice([True, False]),
        "overlap_parameters": draw.choice([True, False]),
        "overlap_tensor": draw.choice([True, False]),
        "overlap_experts": zero < 2 and (interleave > 1 or pp == 1) and draw.random() < 0.4,
        "checkpoint_every": draw.choice([0, 0, 1, 100]),
        "lora": draw.choice([0, 0, 8]),
        "lora_on": draw.choice(["attention", "all"]) if experts == 1 else "attention",
    }
    return data | random_layers(draw, data), pp * tp * cp * dp


def random_layers(draw: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """Return what makes layers of a job differ, and attention another one."""
    changes: dict[str, Any] = {"mtp": draw.choice([0, 0, 0, 1])}
    if data["pp"] > 1 and data["interleave"] == 1 and draw.random() < 0.3:
        first, last = draw.choice([(1, 0), (0, 2), (1, 2)])
        between = data["pp"] - (first > 0) - (last > 0)
        layers = first + last + between * draw.choice([1, 3])
        changes |= {"first_layers": first, "last_layers": last, "layers": layers}
    if data["experts"] > 1:
        layers = changes.get("layers", data["layers"])
        changes["shared_ffn"] = draw.choice([0, 512])
        changes["dense_layers"] = draw.choice([k for k in (0, 1, 2, 3) if k < layers])
        changes["dense_ffn"] = draw.choice([768, 2048])
    if draw.random() < 0.4:
        changes["window"] = draw.choice([16, 100, 10000])
        changes["full_every"] = draw.choice([0, 2, 3])
    if draw.random() < 0.3:
        changes |= {"kv_rank": 48, "q_rank": draw.choice([0, 96]), "rope_dim": 16, "lora": 0}
        changes |= {"head_dim": 32, "value_dim": draw.choice([32, 64]), "kv_heads": 8}
    return changes | {"positions": draw.choice([0, 0, 512])}


def random_query(registry: Registry, seed: int) -> Query:
    """Return a job that can be, on a machine."""
    draw = random.Random(seed)
    while True:
        machine = registry.machine(random_machine(draw))
        data, p = random_job(draw)
        workload = workload_from_data(data, "job", {"training": KIND})
        query = Query(workload=workload, machine=machine, p=p)
        try:
            step_at(query).seconds  # noqa: B018  (refuses what cannot be)
        except InvalidPointError:
            continue
        return query
