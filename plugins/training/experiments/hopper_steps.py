"""Two models on nodes of GH200 from the size before: a section of docs/training.md.

`published_steps.py` writes the page; `uv run python plugins/training/experiments/hopper_steps.py`
prints the section.
"""

from __future__ import annotations

import copy
import csv
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from growing_steps import ROOT, Result, divided

from parcast import Query, Registry
from parcast.files import workload_from_data
from parcast.model import Machine
from parcast_training.steps.asking import step_at
from parcast_training.steps.files import KIND
from parcast_training.steps.solver import bottleneck
from parcast_training.steps.step import Step

DATA = Path("plugins/score/src/parcast_score/datasets/sailor/points.csv")

#: Sizes as the source's configurations have them.
MODELS: dict[str, dict[str, Any]] = {
    "train OPT-350": {"layers": 24, "hidden": 1024, "heads": 16, "vocabulary": 50272},
    "train GPT-NEO": {"layers": 32, "hidden": 2560, "heads": 32, "vocabulary": 128256},
}

TEXT = """
## Two models on nodes of GH200

Sailor (the dataset `sailor`, MIT) states tensor, pipeline and data parallel sizes, microbatch and batch of OPT-350M and a GPT-Neo of
2.7 billion weights on nodes of four GH200. The largest size of each series is predicted as the one measured at the size
before, times the ratio of the two by the model. The machine is `h100-ndr` with what is published of these nodes: four accelerators,
4 TB/s of memory, a port of 200 Gbit/s each. Nothing was chosen: what the source does not state is as a job has it by default.

| series | nodes | microbatch | measured | predicted | error | as work / size | bottleneck |
|---|---|---|---|---|---|---|---|
{rows}

The median error is {model:.1%}, of work over size {ideal:.1%}. By itself the model is far off: it takes {least:.1f} to {most:.1f} times less than
was measured, as this program reaches {use:.0%} of the accelerators' rate at most, and least where microbatches are small, whose
kernels presumably wait for their launches. So steps where the microbatch grows from 1 to 8 are taken for half as long again: calibrate
on the microbatch that is asked about, and on one's own program.
"""  # noqa: E501


def machine_of(registry: Registry) -> Machine:
    """Return nodes of four GH200."""
    data = copy.deepcopy(dict(registry.machine("h100-ndr").data))
    data.pop("sources", None)
    data["accelerator"] |= {"per_node": 4, "memory": "1 TB", "memory_bandwidth": "4 TB/s"}
    data["accelerator"]["links"]["domain"] = data["nodes"]["cores"] = 4
    data["network"] |= {"ports": 4, "bandwidth": "24 GB/s", "port_bandwidth": "25 GB/s"}
    data["network"]["levels"][0]["size"] = 4
    return registry.machine(data)


def step_of(machine: Machine, result: Result) -> Step:
    """Return the step of a result in its layout."""
    layout = {name: int(result[name]) for name in ("tp", "pp", "dp")}
    data = {
        "name": "job",
        "kind": "training",
        "sequence": 2048,
        "positions": 2048,
        "global_batch": int(float(result["work"])),
        "micro_batch": int(result["microbatch"]),
        **MODELS[result["application"]],
        **layout,
    }
    workload = workload_from_data(data, "job", {"training": KIND})
    return step_at(Query(workload=workload, machine=machine, p=int(result["processes"])))


def section() -> str:
    """Return the section of the page."""
    registry = Registry()
    machine = machine_of(registry)
    series: dict[str, dict[int, Result]] = defaultdict(dict)
    for result in csv.DictReader((ROOT / DATA).read_text().splitlines()):
        if result["cluster"] == "clariden":
            series[result["series"]][int(result["size"])] = result
    rows, errors, ideals, slower, uses = [], [], [], [], []
    for name, sizes in sorted(series.items()):
        if len(sizes) < 2:
            continue
        small, large = (sizes[size] for size in sorted(sizes)[-2:])
        steps = [step_of(machine, result) for result in (small, large)]
        values = [float(result["value"]) for result in (small, large)]
        for step, value in zip(steps, values, strict=True):
            slower.append(value / step.seconds)
            rate = machine.accelerator.rate("bf16") * step.layout.size
            uses.append(step.job.model_flops / value / rate)
        predicted = values[0] * steps[1].seconds / steps[0].seconds
        ideal = values[0] * divided(large) / divided(small)
        error, as_ideal = predicted / values[1] - 1, ideal / values[1] - 1
        errors.append(abs(error))
        ideals.append(abs(as_ideal))
        label = name.replace("clariden|", "").replace("|", ", ")
        rows.append(
            f"| {label} | {small['size']} to {large['size']} "
            f"| {small['microbatch']} to {large['microbatch']} | {values[1]:.3f} s "
            f"| {predicted:.3f} s | {error:+.1%} | {as_ideal:+.1%} | {bottleneck(steps[1])} |"
        )
    return TEXT.format(
        rows="\n".join(rows),
        model=median(errors),
        ideal=median(ideals),
        least=min(slower),
        most=max(slower),
        use=max(uses),
    )


if __name__ == "__main__":
    print(section())
