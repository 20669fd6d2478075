"""What configurations state that a job has not: refused, or named beside its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs

from parcast.errors import FileError
from parcast_training.steps.job import Job
from parcast_training.steps.megatron_layers import LAYERS_WITH_EXPERTS, WINDOW

#: Arguments of Megatron-LM of layers that are unlike or have other weights: names, values that say
#: neither, and what the others say.
_REFUSED = (
    (r"experimental-attention-variant", "", "its attention is of another sort"),
    (r"moe-layer-freq", LAYERS_WITH_EXPERTS, "layers between others have no experts"),
    (r"expert-interval", "1", "each second layer has no experts, where it states no other number"),
    (r"moe-latent-size", "", "its experts see a narrower token"),
    (r"is-hybrid-model|hybrid-.*|mamba-.*|linear-attention-.*", "", "its layers are recurrent"),
    (r"heterogeneous-layers-config-.*", "", "its layers differ"),
    (r"window-size", WINDOW, "a token sees some of the others alone"),
    (r"window-attn-skip-freq", r"\d+", "some of its layers have no window"),
    (r"retro-.*", "", "it looks up neighbors of its text"),
    (r"(disable-)?vision-.*|img-.*|patch-dim|image-.*", "", "it sees pictures"),
    (r"attention-output-gate|use-gated-attention", "", "its attention has weights of a gate"),
    (r"spec", r"local|te|.*gpt_layer_specs.*", "its layers are what a program says"),
)

#: Arguments that change time or memory and are not modelled, and values with which they do not.
_LEFT_OUT = {
    "tp-comm-overlap": "", "ub-tp-comm-overlap": "", "recompute-method": "uniform",
    "recompute-num-layers": "1", "recompute-modules": "core_attn", "moe-layer-recompute": "",
    "distribute-saved-activations": "", "cpu-offloading": "", "cpu-offloading-num-layers": "0",
    "fine-grained-activation-offloading": "", "moe-expert-capacity-factor": "",
    "moe-pad-expert-input-to-capacity": "", "expert-tensor-parallel-size": "1",
    "moe-extended-tp": "", "use-tp-pp-dp-mapping": "", "main-grads-dtype": "fp32",
    "main-params-dtype": "fp32", "exp-avg-dtype": "fp32", "exp-avg-sq-dtype": "fp32",
    "fp8-param-gather": "", "fp8-params": "", "pipeline-model-parallel-layout": "",
    "account-for-embedding-in-pipeline-split": "", "account-for-loss-in-pipeline-split": "",
    "num-distributed-optimizer-instances": "1", "hierarchical-context-parallel-sizes": "",
    "cp-comm-type": "all_gather", "delay-wgrad-compute": "",
    "optimizer": "adam", "moe-router-num-groups": "1", "moe-router-group-topk": "1",
    "mcore-customization-config": "",
}  # fmt: skip

#: What counts only beside another argument of such a value.
_ONLY_WITH = {
    "recompute-method": ("recompute-granularity", "full"),
    "recompute-num-layers": ("recompute-granularity", "full"),
    "recompute-modules": ("recompute-granularity", "selective"),
    "cpu-offloading-num-layers": ("cpu-offloading", "true"),
}


def refuse_unlike(path: Path, settings: Mapping[str, str]) -> None:
    """Refuse settings of Megatron-LM that say that layers differ, or have other weights.

    Raises
    ------
    FileError
        With the setting and what it says.
    """
    for name, value in settings.items():
        for pattern, alike, why in _REFUSED:
            if not re.fullmatch(pattern, name) or (alike and re.fullmatch(alike, value)):
                continue
            if alike and "$" in value:
                raise FileError(f"{path}: --{name} {value} is for its shell to work out; write its "
                                "value out")  # fmt: skip
            raise FileError(f"{path}: --{name}: {why}, and a training step is of a decoder whose "
                            "layers are alike, but for the first without experts and for windows; "
                            "write a table of kind 'training' for what comes near")  # fmt: skip


def left_out(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the settings of Megatron-LM that change time or memory and are not modelled."""
    for name, harmless in _LEFT_OUT.items():
        value = settings.get(name)
        beside, needed = _ONLY_WITH.get(name, (name, value))
        if value is not None and value != harmless and settings.get(beside) == needed:
            yield f"{name} = {value}" if harmless else name  # a flag has no value of its own


def configuration_notes(job: Job) -> tuple[str, ...]:
    """Return what of a job's configuration is not modelled, and what it leaves open."""
    defaults = {field.name: field.default for field in attrs.fields(type(job))}
    open_keys = [key for key in job.assumed if getattr(job, key) == defaults[key]]
    names = ", ".join(job.left_out)
    return (
        *((f"its configuration states what is not modelled: {names}",) if names else ()),
        *(
            f"{key} = {defaults[key]} is assumed, as its configuration states none; --set {key}=N"
            for key in open_keys
        ),
    )
