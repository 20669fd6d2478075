"""Configurations of torchtitan: models go by name and flavor, layouts by degrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError
from parcast_training.steps.models import LLAMA_3

#: Tables that have degrees, the later one's count: versions of 2024 have them with the training.
_TABLES = ("training", "experimental", "parallelism")

#: Pieces of a stage where a schedule of several says nothing else.
_PIECES = 2

#: What changes time or memory and is not modelled: table, key, and values that say nothing of it.
_LEFT_OUT = (
    ("parallelism", "enable_async_tensor_parallel", (False,)),
    ("parallelism", "data_parallel_replicate_degree", (1,)),
    ("parallelism", "fsdp_reshard_after_forward", ("default", "always")),
    ("training", "data_parallel_replicate_degree", (1,)),
    ("training", "enable_cpu_offload", (False,)),
    ("training", "mixed_precision_param", ("bfloat16",)),
    ("activation_checkpoint", "selective_ac_option", ()),
)

#: What names a degree.
_DEGREES = {
    "tensor_parallel_degree": "tp",
    "pipeline_parallel_degree": "pp",
    "context_parallel_degree": "cp",
}


def is_titan(config: Mapping[str, Any]) -> bool:
    """Return whether data are torchtitan's, by their keys."""
    model = config.get("model")
    return isinstance(model, Mapping) and "flavor" in model


def titan_job(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the data of a job.

    Weights are split over the data-parallel group as FSDP does, ``zero = 3``. Selective
    recomputation is that of attention alone.

    Raises
    ------
    FileError
        If the model is none whose numbers are known, or a value is none that is read.
    """
    model, training = config["model"], config.get("training", {})
    degrees = {key: value for name in _TABLES for key, value in config.get(name, {}).items()}
    name, flavor = str(model.get("name")), str(model["flavor"])
    if name != "llama3" or flavor not in LLAMA_3:
        raise FileError(
            f"{path}: model {name} of flavor {flavor} has its numbers in torchtitan's code; known: "
            f"llama3 of {', '.join(LLAMA_3)}; write a table of kind 'training' instead"
        )
    layers, hidden, heads, kv_heads, ffn = LLAMA_3[flavor]
    tp = _degree(degrees, "tensor_parallel_degree", path)
    mode = config.get("activation_checkpoint", {}).get("mode", "selective")
    if mode not in {"none", "selective", "full"}:
        raise FileError(f"{path}: activation_checkpoint.mode = {mode!r}: 'none', 'selective' or "
                        "'full' is read")  # fmt: skip
    micro, batch = _batches(training, degrees, path)
    return {
        "kind": "training", "name": path.stem, "layers": layers, "hidden": hidden, "heads": heads,
        "kv_heads": kv_heads, "ffn": ffn, "gated": True, "vocabulary": 128256,
        "tied": flavor in {"1B", "3B"}, "sequence": training.get("seq_len", 2048),
        "precision": "fp8" if _is_narrow(config) else "bf16",
        "global_batch": batch, "micro_batch": micro,
        **{key: _degree(degrees, degree, path) for degree, key in _DEGREES.items()},
        **_schedule(degrees, layers, path),
        "sp": 1 if tp > 1 else 0, "zero": 3, "recompute": mode, "overlap_parameters": True,
        "left_out": [*_left_out(config, mode)],
    }  # fmt: skip


def _left_out(config: Mapping[str, Any], mode: str) -> Iterator[str]:
    """Yield the settings that change time or memory and are not modelled."""
    for table, key, harmless in _LEFT_OUT:
        values = config.get(table, {})
        selects = key != "selective_ac_option" or mode == "selective"
        if key in values and values[key] not in harmless and selects:
            yield f"{table}.{key} = {values[key]}"
    for converter in config["model"].get("converters", []):
        if "float8" not in str(converter):
            yield f"model.converters = {converter}"


def _is_narrow(config: Mapping[str, Any]) -> bool:
    """Return whether matrix products are in 8 bits, in versions of today and of 2024."""
    converters = str(config["model"].get("converters", ""))
    return "float8" in converters or bool(config.get("float8", {}).get("enable_float8_linear"))


def _schedule(degrees: Mapping[str, Any], layers: int, path: Path) -> dict[str, Any]:
    """Return the order of passes, and the pieces of a stage.

    Raises
    ------
    FileError
        If it is an order that a job has not.
    """
    pp = _degree(degrees, "pipeline_parallel_degree", path)
    name = str(degrees.get("pipeline_parallel_schedule", "1F1B"))
    if pp == 1 or name.lower() == "1f1b":
        return {}
    if name.lower() != "interleaved1f1b" or degrees.get("pipeline_parallel_schedule_csv"):
        raise FileError(
            f"{path}: pipeline_parallel_schedule = {name!r}: 1F1B and Interleaved1F1B are read; "
            "write a table of kind 'training' for what comes near"
        )
    each = degrees.get("pipeline_parallel_layers_per_stage")
    pieces = -(-layers // (pp * each)) if isinstance(each, int) and each > 0 else _PIECES
    return {"schedule": "interleaved", "interleave": pieces}


def _degree(degrees: Mapping[str, Any], name: str, path: Path) -> int:
    value = degrees.get(name, 1)
    if not isinstance(value, int) or value < 1:
        raise FileError(f"{path}: {name} = {value}: write a whole number, 1 or more")
    return value


def _batches(
    training: Mapping[str, Any], degrees: Mapping[str, Any], path: Path
) -> tuple[int, int]:
    """Return the samples of a microbatch and of a step.

    Where the data-parallel degree is left open, they are those of 1: a layout of more refuses the
    batch, and names the one that is meant.
    """
    micro = training.get("local_batch_size", training.get("batch_size", 8))
    batch = training.get("global_batch_size", -1)
    pieces = degrees.get("pipeline_parallel_microbatch_size")
    for name, value in (("local_batch_size", micro), ("global_batch_size", batch)):
        if not isinstance(value, int) or value < -1 or not value:
            raise FileError(f"{path}: training.{name} = {value!r}: write a whole number, 1 or more")
    if count := degrees.get("pipeline_parallel_microbatches"):  # as of 2024
        pieces = max(1, micro // count)
    if batch < 1:
        split = degrees.get("data_parallel_shard_degree", -1)
        copies = degrees.get("data_parallel_replicate_degree", 1)
        batch = micro * max(1, split) * copies
    staged = degrees.get("pipeline_parallel_degree", 1) > 1
    return (pieces or 1) if staged else micro, batch
