"""Public training results from the size before: a section of docs/training.md.

`published_steps.py` writes the page; `uv run python plugins/training/experiments/growing_steps.py`
prints the section.
"""

from __future__ import annotations

import copy
import csv
import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from parcast import Query, Registry
from parcast.files import workload_from_data
from parcast.model import Machine
from parcast_training.steps.asking import step_at
from parcast_training.steps.files import KIND
from parcast_training.steps.solver import bottleneck
from parcast_training.steps.step import Step

DATA = "plugins/score/src/parcast_score/datasets/mlperf-training/points.csv"
ROOT = Path(__file__).parents[3]

Result = Mapping[str, str]

#: 405b has 126 layers, taken as 128: 8 stages of 8 pieces.
LLAMA: dict[str, Any] = {
    "gated": True,
    "tied": False,
    "vocabulary": 128256,
    "sequence": 8192,
    "kv_heads": 8,
    "zero": 1,
}
MODELS: dict[str, dict[str, Any]] = {
    "llama31_8b": {**LLAMA, "layers": 32, "hidden": 4096, "heads": 32, "ffn": 14336},
    "llama2_70b_lora": {
        **LLAMA,
        "layers": 80,
        "hidden": 8192,
        "heads": 64,
        "ffn": 28672,
        "vocabulary": 32000,
        "lora": 16,
    },
    "llama31_405b": {**LLAMA, "layers": 128, "hidden": 16384, "heads": 128, "ffn": 53248},
}

#: What results do not state, as it does best on the half of the series that may be looked at.
CHOSEN: dict[str, Any] = {"precision": "fp4", "gradients": "fp32", "overlap_gradients": False}

#: All that it may be.
CHOICES: dict[str, tuple[Any, ...]] = {
    "gradients": ("fp32", "16-bit"),
    "overlap_gradients": (False, True),
    "overlap_parameters": (False, True),
    "zero": (0, 1),
}

TEXT = """
## Calibrated on a smaller size

Public training results (MLPerf Training v5.1, the dataset `mlperf-training`) state batch and layout. A step at the
largest size of a series is predicted as the one measured at the size before, times the ratio of the two by the model,
on `gb200-nvl72`, with nodes of 8 for B200, and racks of 64 where the layout divides no 72. What results do not state
(how many pieces a stage has, which numbers gradients are added up in, whether their reduction is overlapped) was
chosen on half of the series, drawn by a hash of their names; the other half was looked at once, except fine tuning (LoRA,
rank 16 on the matrices of attention, as the benchmark has it), which the kind `training` did not have then: with all
weights trained its errors were 84 % (of a layout that does not go with its batch) and 20 %. With frozen weights, and
nothing else changed, they are the rows that say `later`. Left out is what is stated against itself: {without}.

| series | accelerators | half | measured | predicted | error | as work / size | bottleneck |
|---|---|---|---|---|---|---|---|
{rows}

The median error is {model:.1%}, on the half looked at once {judged:.1%}; of fine tuning {lora:.1%}, which reduces few
gradients; of work over size {ideal:.1%}. Where all weights of a model are trained on B200, whose nodes of 8 are joined
by a network, the reduction of gradients is taken for longer than it is, by up to {worst:.0%}: so no predictor is made
of this rule.

### How well any rule can do

Submitters of one model, accelerator and batch do not grow alike, even where their stated layouts are equal (pieces of a
batch, tensor, pipeline and context parallel). From one size to another, by the ratio of steps:

| model and sizes | submitters | ratios of steps |
|---|---|---|
{growth}

A rule that sees sizes, batches, layouts and one measured size of each gives them all one ratio. The ratio in the
middle between the least and the largest is off by {floor:.1%} at the median of these. That is no scatter of runs, which
lie within {scatter:.1%} of their median (half of the points), but single steps at 8 accelerators: where three or more submitters
have one layout, all steps are within {near:.1%} of their median but those of
{apart}.

A step is what is predicted, so how many samples a run needs does not enter. That is what the seed decides: times to
train of one result spread to 7.7 % either side of their median (llama2_70b_lora, the median of 49 results), 3.9 %
(llama31_8b, 34) and 1.2 % (llama31_405b, 5), its steps to 0.15 %, by the least and the largest of each result of the same source.
So no law of samples over batches brings a step nearer.

None of the points above is predicted from one of these steps, so that alone does not put 5 % out of reach there. Three more
figures do as far as this model goes: of all {choices} choices of what results do not state (numbers that gradients are
added up in, what is overlapped, whether the optimizer is sharded) the best has a median of {best:.1%}; with the median
of all submitters of a layout in place of each one's own smaller size it is {peers:.1%}; and if each series had the
choice that suits its own largest size, {hindsight:.1%}.

One attempt more: collectives whose levels work at once, as libraries pipeline them, instead of within nodes first and between them
then. Of all choices with either, the one that is best on four submitters (drawn by a hash) has 7.3 % there and 73 % on the fifth;
with levels at once and gradients in 16 bits it is 7.8 and 14 %. So the worst error falls from 77 to 23 %, but the median stays
(8.0 %): Dell's step at 16 accelerators, and Nebius's at 32, are a fifth longer than any of these choices says, where other submitters' alike
are not. It is not taken over, as nothing here says which of both a system does.
"""  # noqa: E501


def results() -> list[Result]:
    """Return the measured steps of all series."""
    return list(csv.DictReader((ROOT / DATA).read_text().splitlines()))


def machine_of(registry: Registry, result: Result) -> Machine:
    """Return Blackwell accelerators in racks, or in nodes of 8."""
    data = copy.deepcopy(dict(registry.machine("gb200-nvl72").data))
    data.pop("sources", None)
    node = 72 if int(result["size"]) % 64 else 64
    if result["accelerator"].startswith("B"):
        node = 8
    data["accelerator"] |= {"per_node": node, "memory": "1 TB"}
    data["nodes"]["cores"] = data["network"]["ports"] = node
    data["network"]["levels"][0]["size"] = node
    return registry.machine(data)


def micro_batch(result: Result) -> int:
    """Return the samples that go through a stage at once; 0 where batch and layout disagree."""
    tp, pp, cp = (int(result[name]) for name in ("tp", "pp", "cp"))
    groups, batch = int(result["size"]) // (tp * pp * cp), int(float(result["work"]))
    return 1 if pp > 1 else batch // groups // int(float(result["grad_accum"]))


def step_of(registry: Registry, result: Result, chosen: Mapping[str, Any] = CHOSEN) -> Step:
    """Return the step of a result in its layout."""
    tp, pp, cp = (int(result[name]) for name in ("tp", "pp", "cp"))
    size, batch = int(result["size"]), int(float(result["work"]))
    micro = micro_batch(result)
    layout = {"tp": tp, "pp": pp, "cp": cp, "global_batch": batch, "micro_batch": micro}
    pieces = {"interleave": 8, "schedule": "interleaved"} if pp > 1 else {}
    model = MODELS[result["application"]]
    data = {"name": "job", "kind": "training", **model, **chosen, **layout, **pieces}
    workload = workload_from_data(data, "job", {"training": KIND})
    return step_at(Query(workload=workload, machine=machine_of(registry, result), p=size))


def by_series(results: Iterable[Result]) -> dict[str, dict[int, list[Result]]]:
    """Return the results of series of several sizes, by size, the fastest first."""
    series: dict[str, dict[int, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in sorted(results, key=lambda result: float(result["value"])):
        series[result["series"]][int(result["size"])].append(result)
    return {name: dict(sizes) for name, sizes in sorted(series.items()) if len(sizes) > 1}


def is_judged(series: str) -> bool:
    """Return whether a series is of the half that is looked at once."""
    return int(hashlib.sha256(f"half {series}".encode()).hexdigest(), 16) % 2 == 1


def divided(result: Result) -> float:
    """Return the samples of a step on one accelerator."""
    return float(result["work"]) / float(result["size"])


def growths(results: Iterable[Result]) -> dict[str, dict[str, float]]:
    """Return, by model, accelerator, sizes, batches and layouts, each submitter's ratio of steps.

    Several systems of a submitter count by their fastest.
    """
    ratios: dict[str, dict[str, float]] = defaultdict(dict)
    for series, sizes in by_series(results).items():
        submitter, accelerator, model, _ = series.split("|")
        fastest = [layouts_of(sizes[size]) for size in sorted(sizes)]
        for i, smaller in enumerate(fastest):
            for small, large in product(smaller, (r for more in fastest[i + 1 :] for r in more)):
                texts = [f"{r['size']} ({float(r['work']):.0f}{stated(r)})" for r in (small, large)]
                key = f"{model} on {accelerator}, {' to '.join(texts)}"
                ratios[key][submitter] = float(large["value"]) / float(small["value"])
    return {key: alike for key, alike in ratios.items() if len(alike) > 1}


def layouts_of(alike: Iterable[Result]) -> list[Result]:
    """Return the fastest result of each stated layout."""
    fastest: dict[str, Result] = {}
    for result in alike:
        fastest.setdefault(stated(result), result)
    return list(fastest.values())


def stated(result: Result) -> str:
    """Return what a result states of its layout beyond 1."""
    values = {name: result[name] for name in ("grad_accum", "tp", "pp", "cp")}
    names = {"grad_accum": "pieces"}
    return "".join(f", {names.get(k, k)} = {v or '?'}" for k, v in values.items() if v != "1")


def judged(results: Iterable[Result]) -> Iterator[tuple[str, Result, Sequence[Result]]]:
    """Yield series with the result that calibrates, and those of the largest size."""
    for series, sizes in by_series(results).items():
        *_, before, last = sorted(sizes)
        small = sizes[before][(len(sizes[before]) - 1) // 2]
        if sizes[last][0]["application"] in MODELS:
            yield series, small, sizes[last]


def apart(results: Iterable[Result]) -> tuple[float, str]:
    """Return how far steps of a layout of three or more are off their median, and which are apart.

    Apart are those that are off by more than 10 %.
    """
    alike: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if result["application"] in MODELS:
            alike[_layout(result)].append(result)
    near, names = 0.0, []
    for steps in (steps for steps in alike.values() if len(steps) > 2):
        middle = median(float(step["value"]) for step in steps)
        for step in steps:
            off = float(step["value"]) / middle - 1
            if abs(off) > 0.1:
                submitter = step["series"].partition("|")[0].replace("-", " ")
                names.append(
                    f"{submitter} ({step['application']}, {step['accelerator']}: {off:+.0%})"
                )
            else:
                near = max(near, abs(off))
    return near, ", ".join(names)


def limits(registry: Registry) -> dict[str, float]:
    """Return median errors by the best choice, by each series' best one, and by peers' steps."""
    known, alike = results(), defaultdict(list)
    for result in known:
        alike[_layout(result)].append(float(result["value"]))
    pairs = [
        (small, large)
        for _, small, larger in judged(known)
        for large in larger
        if micro_batch(small) and micro_batch(large)
    ]
    table = []
    for values in product(*CHOICES.values()):
        choice = {"precision": CHOSEN["precision"], **dict(zip(CHOICES, values, strict=True))}
        growth = [
            step_of(registry, large, choice).seconds / step_of(registry, small, choice).seconds
            for small, large in pairs
        ]
        own = [float(small["value"]) for small, _ in pairs]
        peers = [median(alike[_layout(small)]) for small, _ in pairs]
        table.append([_errors(growth, calibrated, pairs) for calibrated in (own, peers)])
    return {
        "choices": len(table),
        "best": min(median(own) for own, _ in table),
        "peers": min(median(peers) for _, peers in table),
        "hindsight": median(min(errors) for errors in zip(*(own for own, _ in table), strict=True)),
    }


def _layout(result: Result) -> tuple[str, ...]:
    names = ("application", "accelerator", "size", "work", "grad_accum", "tp", "pp", "cp")
    return tuple(result[name] for name in names)


def _errors(
    growth: Sequence[float], calibrated: Sequence[float], pairs: Sequence[tuple[Result, Result]]
) -> list[float]:
    measured = [float(large["value"]) for _, large in pairs]
    return [abs(g * c / m - 1) for g, c, m in zip(growth, calibrated, measured, strict=True)]


def offs(ratios: Iterable[float]) -> list[float]:
    """Return how far each is off the geometric middle of the least and the largest."""
    values = list(ratios)
    middle = math.sqrt(min(values) * max(values))
    return [abs(middle / value - 1) for value in values]


def section() -> str:
    """Return the section of the page."""
    registry = Registry()
    errors: dict[str, list[float]] = {"model": [], "ideal": [], "judged": [], "lora": []}
    rows, without = [], []
    for series, small, larger in judged(results()):
        application, before, last = small["application"], small["size"], larger[0]["size"]
        if not all(micro_batch(result) for result in (small, *larger)):
            without.append(f"{series.replace('|', ', ')}, {before} to {last}")
            continue
        reference = step_of(registry, small).seconds / float(small["value"])
        for large in larger:
            step, measured = step_of(registry, large), float(large["value"])
            error = step.seconds / reference / measured - 1
            ideal = float(small["value"]) * divided(large) / divided(small) / measured - 1
            half = "once" if is_judged(series) else "chosen on"
            half = "later" if application.endswith("lora") else half
            errors["model"].append(abs(error))
            errors["ideal"].append(abs(ideal))
            if half == "once":
                errors["judged"].append(abs(error))
            if half == "later":
                errors["lora"].append(abs(error))
            rows.append(
                f"| {series.replace('|', ', ')} | {before} to {last} | {half} | {measured:.3f} s "
                f"| {step.seconds / reference:.3f} s | {error:+.1%} | {ideal:+.1%} "
                f"| {bottleneck(step)} |"
            )
    growth = growths(results())
    near, names = apart(results())
    floor = median(off for alike in growth.values() for off in offs(alike.values()))
    return TEXT.format(
        rows="\n".join(rows),
        model=median(errors["model"]),
        judged=median(errors["judged"]),
        lora=median(errors["lora"]),
        without="; ".join(without),
        ideal=median(errors["ideal"]),
        worst=max(errors["model"]),
        floor=floor,
        scatter=median(
            (float(r["high"]) - float(r["low"])) / 2 / float(r["value"]) for r in results()
        ),
        near=near,
        apart=names,
        **limits(registry),
        growth="\n".join(
            f"| {key} | {', '.join(alike)} | {', '.join(f'{x:.3f}' for x in alike.values())} |"
            for key, alike in growth.items()
        ),
    )


if __name__ == "__main__":
    print(section())
