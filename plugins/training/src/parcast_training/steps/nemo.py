"""Configurations of NeMo: a model's keys are Megatron-LM's arguments, written otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast.files import read_text
from parcast.model import Workload
from parcast_training.steps.megatron import job_of

#: Keys that are arguments of another name.
_RENAMED = {
    "encoder_seq_length": "seq-length",
    "activations_checkpoint_granularity": "recompute-granularity",
    "virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
    "num_moe_experts": "num-experts",
    "fp8": "fp8-format",
    "use_flash_attention": "use-flash-attn",
    "activations_checkpoint_method": "recompute-method",
    "activations_checkpoint_num_layers": "recompute-num-layers",
    "override_vocab_size": "padded-vocab-size",
}

#: Stand in configurations of Mamba and Griffin, and of BERT alone, whatever they say.
_TELLING = ("activations_checkpoint_recurrent", "bert_binary_head")

#: Optimizers whose states are split over the data-parallel group, and whether they reduce
#: gradients beside the backward pass where nothing is said.
_SHARDED = {"distributed_fused_adam": True, "mcore_distributed_optim": False}

#: What FSDP splits, by its strategy.
_FSDP = {"full": "optim_grads_params", "grad": "optim_grads"}

#: What tells models that are no decoders of one sort of layers.
_OTHERS = (
    "encoder", "decoder", "encoder_arch", "retro", "hyena", "hybrid_override_pattern", "peft",
    "restore_from_path", *_TELLING,
)  # fmt: skip

_REFERENCE = re.compile(r"\$\{(?:model)?\.(\w+)\}")

#: A product of a number and another key, which NeMo works out.
_PRODUCT = re.compile(r"\$\{multiply:\s*(\d+),\s*(\$\{(?:model)?\.\w+\})\}")


def read_nemo(path: Path) -> Workload:
    """Return the job that a NeMo configuration of a language model describes.

    Raises
    ------
    FileError
        If it is no YAML, no decoder, or lacks a number.
    """
    import yaml  # type: ignore[import-untyped]

    try:
        config = yaml.safe_load(read_text(path))
    except (yaml.YAMLError, RecursionError) as error:
        raise FileError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    model = config.get("model") if isinstance(config, dict) else None
    if not isinstance(model, dict):
        raise FileError(f"{path}: no table 'model', as NeMo's configurations of training have it")
    for key in _OTHERS:
        if model.get(key) or (key in _TELLING and key in model):
            raise FileError(f"{path}: model.{key}: a step is of a decoder whose layers are alike; "
                            "write a table of kind 'training' for what comes near")  # fmt: skip
    settings = {_RENAMED.get(key, key.replace("_", "-")): text
                for key, value in model.items()
                if (text := _text(value, model)) is not None}  # fmt: skip
    return job_of(path, settings | _beside(config, model))


def _text(value: Any, model: Mapping[str, Any]) -> str | None:
    """Return a value as an argument's; None for what is not stated, or off."""
    if isinstance(value, str) and (match := _PRODUCT.fullmatch(value)):
        factor = _text(match[2], model)
        return str(int(match[1]) * int(factor)) if factor and factor.isdigit() else value
    if isinstance(value, str) and (match := _REFERENCE.fullmatch(value)):
        value = model.get(match[1])
    if value is None or value is False or isinstance(value, dict | list):
        return None
    return "true" if value is True else str(value)


def _beside(config: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, str]:
    """Return what other keys than the arguments' say."""
    settings: dict[str, str] = {}
    if isinstance(window := model.get("window_size"), list):
        settings["window-size"] = ",".join(map(str, window))
    precision = str((config.get("trainer") or {}).get("precision", "32"))
    narrow = "bf16" if precision.startswith("bf16") else "fp16"
    settings[narrow if "16" in precision else "fp32"] = "true"
    if str(model.get("activation", "gelu")).removeprefix("fast-") in {"swiglu", "geglu", "reglu"}:
        settings["swiglu"] = "true"
    if model.get("mcore_customization_config"):  # of Falcon's and Gemma's own layers
        settings["mcore-customization-config"] = "true"
    if model.get("share_embeddings_and_output_weights") is False:
        settings["untie-embeddings-and-output-weights"] = "true"
    return settings | _optimizer(model)


def _optimizer(model: Mapping[str, Any]) -> dict[str, str]:
    """Return what is split over the data-parallel group, and what is beside passes."""
    settings: dict[str, str] = {}
    optim = model.get("optim") or {}
    if (name := optim.get("name")) in _SHARDED:
        settings["use-distributed-optimizer"] = "true"
        if optim.get("overlap_grad_sync", _SHARDED[name]):
            settings["overlap-grad-reduce"] = "true"
        if optim.get("overlap_param_sync"):
            settings["overlap-param-gather"] = "true"
        if "16" in str(optim.get("grad_sync_dtype", "")):
            settings["grad-reduce-in-bf16"] = "true"
        else:
            settings["accumulate-allreduce-grads-in-fp32"] = "true"
    if model.get("fsdp"):
        strategy = str(model.get("fsdp_sharding_strategy", "full"))
        settings["data-parallel-sharding-strategy"] = _FSDP.get(strategy, strategy)
    return settings
