"""DeepSpeed's configuration: batch, sharding and precision of the model beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast.files import read_data
from parcast_training.steps.huggingface import is_model, model_of

#: Keys that tell such a file from others.
_TELLING = ("zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu")

#: What changes time or memory and is not modelled: table, key, and values that say nothing of it.
_LEFT_OUT = (
    ("zero_optimization", "zero_hpz_partition_size", (1,)),
    ("zero_optimization", "zero_quantized_weights", (False,)),
    ("zero_optimization", "zero_quantized_gradients", (False,)),
    ("zero_optimization", "mics_shard_size", (-1, 0)),
    ("activation_checkpointing", "partition_activations", (False,)),
    ("activation_checkpointing", "cpu_checkpointing", (False,)),
    ("communication_data_type", "", ()),
    ("compression_training", "", ()),
)

#: What the caller of DeepSpeed fills in.
_OPEN = (None, "auto")


def is_deepspeed(data: Mapping[str, Any]) -> bool:
    """Return whether data are DeepSpeed's, by their keys."""
    return any(key in data for key in _TELLING)


def deepspeed_job(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the data of a job: the model is the config.json in the same folder.

    Raises
    ------
    FileError
        If there is no such model, or a value is none that is read.
    """
    micro, batch = _batches(config, path)
    zero = _table(config, "zero_optimization", path)
    stage = _whole(zero, "stage", path, 0, "zero_optimization.stage")
    if stage > 3:
        raise FileError(f"{path}: zero_optimization.stage = {stage}: 0 to 3 are read")
    precision = _precision(config, path)
    return {
        **_model(path),
        "name": path.parent.name or path.stem,
        "micro_batch": micro, "global_batch": batch, "zero": stage,
        "precision": precision or "bf16", "assumed": [] if precision else ["precision"],
        "gradients": _gradients(config, precision, stage, path),
        "overlap_gradients": bool(zero.get("overlap_comm", stage == 3)),
        "overlap_parameters": stage == 3,
        **_offload(zero, path), **_parallel(config, path),
        "left_out": [*_left_out(config, zero)],
    }  # fmt: skip


def _model(path: Path) -> dict[str, Any]:
    beside = path.parent / "config.json"
    if beside == path or not beside.exists():
        raise FileError(f"{path}: DeepSpeed's configuration states no model; put the model's "
                        f"config.json beside it, as {beside}")  # fmt: skip
    model = read_data(beside)
    if not is_model(model):
        raise FileError(f"{beside}: no model of Hugging Face, which {path.name} is read with")
    return model_of(model, beside)


def _batches(config: Mapping[str, Any], path: Path) -> tuple[int, int]:
    """Return the samples of a microbatch and of a step.

    Where the batch is left open, it is that of one accelerator: a layout of more refuses it, and
    names the one that is meant.
    """
    micro = _whole(config, "train_micro_batch_size_per_gpu", path, 0)
    pieces = _whole(config, "gradient_accumulation_steps", path, 1)
    batch = _whole(config, "train_batch_size", path, 0)
    if not micro and not batch:
        raise FileError(
            f"{path}: train_batch_size and train_micro_batch_size_per_gpu are left to the program "
            "that reads them; write at least one as a number"
        )
    return micro or 1, batch or micro * pieces


def _whole(table: Mapping[str, Any], key: str, path: Path, otherwise: int, name: str = "") -> int:
    value = table.get(key)
    if value in _OPEN:
        return otherwise
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise FileError(f"{path}: {name or key} = {value!r}: write a whole number")
    return value


def _table(config: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = config.get(key) or {}
    if not isinstance(value, Mapping):
        raise FileError(f"{path}: {key} = {value!r}: write a table")
    return value


def _precision(config: Mapping[str, Any], path: Path) -> str:
    """Return the precision of products, empty where it is left open."""
    states = {
        name: _table(config, key, path).get("enabled", False)
        for key, name in (("bfloat16", "bf16"), ("bf16", "bf16"), ("fp16", "fp16"))
        if key in config
    }
    stated = next((name for name, value in states.items() if value is True), "")
    return stated or ("" if "auto" in states.values() else "fp32")


def _gradients(config: Mapping[str, Any], precision: str, stage: int, path: Path) -> str:
    """Return what gradients are added up in: bf16 without shards of gradients in 32 bits."""
    stated = _table(config, "data_types", path).get("grad_accum_dtype")
    if stated in _OPEN:
        return "fp32" if precision == "fp32" or (precision != "fp16" and stage < 2) else "16-bit"
    return "fp32" if stated in {"fp32", "float32"} else "16-bit"


def _offload(zero: Mapping[str, Any], path: Path) -> dict[str, int]:
    device = _table(zero, "offload_optimizer", path).get("device", "none")
    if device not in {"none", "cpu", None}:
        raise FileError(
            f"{path}: zero_optimization.offload_optimizer.device = {device!r}: 'cpu' is read, the "
            "memory of the node"
        )
    return {"offload": 1} if device == "cpu" else {}


def _parallel(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return stages and tensor-parallel size, and whether stages compute activations again."""
    if _whole(config, "sequence_parallel_size", path, 1) > 1:
        raise FileError(
            f"{path}: sequence_parallel_size = {config['sequence_parallel_size']}: heads are split "
            "over it, which is not modelled; take it out, and state tp or cp"
        )
    stages = _table(config, "pipeline", path)
    layout: dict[str, Any] = {"pp": _whole(stages, "stages", path, 1, "pipeline.stages") or 1}
    tensor = _table(config, "tensor_parallel", path)
    layout["tp"] = _whole(tensor, "autotp_size", path, 1, "tensor_parallel.autotp_size") or 1
    if _whole(stages, "activation_checkpoint_interval", path, 0):
        layout["recompute"] = "full"
    return layout


def _left_out(config: Mapping[str, Any], zero: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings that change time or memory and are not modelled."""
    for table, key, harmless in _LEFT_OUT:
        values = config.get(table)
        if not key and values:
            yield table
        elif isinstance(values, Mapping) and key in values and values[key] not in harmless:
            yield f"{table}.{key} = {values[key]}"
    device = zero.get("offload_param")
    if isinstance(device, Mapping) and device.get("device") not in {None, "none"}:
        yield f"zero_optimization.offload_param.device = {device['device']}"
