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
}

#: Stands in configurations of Mamba and Griffin alone, whatever it says.
_RECURRENT = "activations_checkpoint_recurrent"

#: What tells models that are no decoders of one sort of layers.
_OTHERS = (
    "encoder", "decoder", "encoder_arch", "bert_binary_head", "retro", "hyena",
    "hybrid_override_pattern", "peft", "restore_from_path", _RECURRENT,
)  # fmt: skip

_REFERENCE = re.compile(r"\$\{(?:model)?\.(\w+)\}")


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
        if model.get(key) or (key == _RECURRENT and key in model):
            raise FileError(f"{path}: model.{key}: a step is of a decoder whose layers are alike; "
                            "write a table of kind 'training' for what comes near")  # fmt: skip
    settings = {_RENAMED.get(key, key.replace("_", "-")): text
                for key, value in model.items()
                if (text := _text(value, model)) is not None}  # fmt: skip
    return job_of(path, settings | _beside(config, model))


def _text(value: Any, model: Mapping[str, Any]) -> str | None:
    """Return a value as an argument's; None for what is not stated, or off."""
    if isinstance(value, str) and (match := _REFERENCE.fullmatch(value)):
        value = model.get(match[1])
    if value is None or value is False or isinstance(value, dict | list):
        return None
    return "true" if value is True else str(value)


def _beside(config: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, str]:
    """Return what other keys than the arguments' say."""
    settings: dict[str, str] = {}
    precision = str((config.get("trainer") or {}).get("precision", "32"))
    narrow = "bf16" if precision.startswith("bf16") else "fp16"
    settings[narrow if "16" in precision else "fp32"] = "true"
    if str(model.get("activation", "gelu")).removeprefix("fast-") in {"swiglu", "geglu", "reglu"}:
        settings["swiglu"] = "true"
    if model.get("share_embeddings_and_output_weights") is False:
        settings["untie-embeddings-and-output-weights"] = "true"
    if (model.get("optim") or {}).get("name") == "distributed_fused_adam":
        settings["use-distributed-optimizer"] = "true"
    return settings
