"""Arguments of Megatron-LM, from a job and as a job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError
from parcast.files import read_text, workload_from_data
from parcast.model import Workload
from parcast_training.steps.files import KIND
from parcast_training.steps.job import Job
from parcast_training.steps.megatron_defaults import completed
from parcast_training.steps.megatron_layers import layer_arguments, layers_of, whole
from parcast_training.steps.unmodelled import left_out, refuse_unlike

#: What arguments with a number say.
_NUMBERS = {
    "num-layers": "layers",
    "hidden-size": "hidden",
    "num-attention-heads": "heads",
    "num-query-groups": "kv_heads",
    "num-key-value-heads": "kv_heads",
    "kv-channels": "head_dim",
    "ffn-hidden-size": "ffn",
    "vocab-size": "vocabulary",
    "padded-vocab-size": "vocabulary",
    "pad-vocab-size-to": "vocabulary",
    "num-experts": "experts",
    "moe-router-topk": "active",
    "seq-length": "sequence",
    "global-batch-size": "global_batch",
    "micro-batch-size": "micro_batch",
    "tensor-model-parallel-size": "tp",
    "pipeline-model-parallel-size": "pp",
    "context-parallel-size": "cp",
    "expert-model-parallel-size": "ep",
    "moe-expert-parallel-size": "ep",
    "zero-stage": "zero",
    "mtp-num-layers": "mtp",
    "decoder-first-pipeline-num-layers": "first_layers",
    "decoder-last-pipeline-num-layers": "last_layers",
}

#: What arguments without one say.
_FLAGS: dict[str, tuple[str, Any]] = {
    "swiglu": ("gated", True),
    "untie-embeddings-and-output-weights": ("tied", False),
    "sequence-parallel": ("sp", 1),
    "use-distributed-optimizer": ("zero", 1),
    "use-torch-fsdp2": ("zero", 3),
    "grad-reduce-in-bf16": ("gradients", "16-bit"),
    "overlap-grad-reduce": ("overlap_gradients", True),
    "overlap-param-gather": ("overlap_parameters", True),
    "overlap-moe-expert-parallel-comm": ("overlap_experts", True),
    "recompute-activations": ("recompute", "selective"),
    "checkpoint-activations": ("recompute", "full"),
    "activations-checkpoint-method": ("recompute", "full"),
    "optimizer-cpu-offload": ("offload", 1),
    "use-flash-attn": ("attention", "flash"),
}

#: Numbers of products by what says so, the first of all that stand; else they are of 32 bits.
_PRECISIONS = {"fp4-format": "fp4", "fp8-format": "fp8", "bf16": "bf16", "fp16": "fp16"}

#: What is split over the data-parallel group, by what ``zero`` says.
_SHARDED = {0: "no_shard", 1: "optim", 2: "optim_grads", 3: "optim_grads_params"}

#: What says so of products in fewer bits than their results have.
_NARROW = {"fp8": "--fp8-format hybrid", "fp4": "--fp4-format e2m1"}

#: Programs of Megatron-LM and its like that train something else.
_OTHERS = re.compile(
    r"pretrain_(bert|t5|ict|vision_\w+|mamba|retro|vlm|hybrid)\.py|pretrain_\w*(vl|omni|llava|clip)\.py"
)

#: How many pieces a stage has, or layers a piece.
_PIECES = {
    "num-layers-per-virtual-pipeline-stage",
    "num-virtual-stages-per-pipeline-rank",
}

#: A line that assigns a word, or the default of another variable.
_ASSIGNMENT = re.compile(
    r"""(?m)^\s*(?:export\s+)?(\w+)=["']?(?:([\w./+-]+)|\$\{\w+:-([\w./+-]+)\})["']?\s*;?\s*$"""
)
_VARIABLE = re.compile(r"\$\{(\w+)(?::-([\w./+-]+))?\}|\$(\w+)")

#: An argument, with its value behind an equals sign or as the next word.
_ARGUMENT = re.compile(r"^--([a-z][a-z0-9-]*)(?:=(.*))?$", re.DOTALL)


def read_arguments(path: Path) -> Workload:
    """Return the job that the arguments of Megatron-LM in a script or a text describe.

    What is no argument is passed over, as a shell script has it. A variable counts as what the
    script assigns to it, or as its default; with several values, or with none, it is refused.
    """
    text = re.sub(r"(?m)(^|\s)#[^\n]*", r"\1", read_text(path)).replace("\\\n", " ")
    try:
        words = shlex.split(_expanded(text).replace("(", " ").replace(")", " "))
        words = [part.strip("'") for word in words for part in word.split() if part != "'"]
    except ValueError as error:
        raise FileError(f"{path}: no arguments as a shell reads them: {error}") from None
    for word in words:
        if _OTHERS.fullmatch(word.rpartition("/")[2]):
            raise FileError(f"{path}: {word} trains no decoder, which a training step is of")
    settings: dict[str, str] = {}
    for at, word in enumerate(words):
        if match := _ARGUMENT.match(word):
            behind = words[at + 1] if at + 1 < len(words) else ""
            settings[match[1]] = match[2] or ("true" if behind.startswith("--") else behind)
    return job_of(path, completed(settings))


def _expanded(text: str) -> str:
    """Return a script with its variables of a single value written out."""
    values: dict[str, set[str]] = {}
    for name, plain, default in _ASSIGNMENT.findall(text):
        values.setdefault(name, set()).add(plain or default)

    def value(match: re.Match[str]) -> str:
        assigned = values.get(match[1] or match[3], set())
        if len(assigned) == 1:
            return next(iter(assigned))
        return match[2] if match[2] and not assigned else match[0]

    return _VARIABLE.sub(value, text)


def job_of(path: Path, settings: Mapping[str, str]) -> Workload:
    """Return the job of named settings."""
    data: dict[str, Any] = {"name": path.stem, "kind": "training", "overlap_gradients": False}
    data["precision"] = next((_PRECISIONS[n] for n in _PRECISIONS if n in settings), "fp32")
    dropouts = (settings.get(f"{of}-dropout", "0.1") for of in ("attention", "hidden"))
    in_16_bits = (
        data["precision"] == "fp16" and "accumulate-allreduce-grads-in-fp32" not in settings
    )
    data["gradients"] = "16-bit" if in_16_bits else "fp32"  # other precisions' are in 32 by default
    data["dropout"] = any(value not in {"0", "0.0"} for value in dropouts)  # 0.1 by default
    virtual: dict[str, int] = {}
    refuse_unlike(path, settings)
    for name, value in settings.items():
        argument = f"--{name}"
        if name in _NUMBERS:
            data[_NUMBERS[name]] = whole(path, argument, value)
        elif name in _FLAGS:
            key, meaning = _FLAGS[name]
            if name != "use-distributed-optimizer" or "zero" not in data:
                data[key] = meaning
        elif name == "data-parallel-sharding-strategy":
            data["zero"] = _sharding(path, value)
        elif name == "recompute-granularity":
            data["recompute"] = value
        elif name == "attention-backend":
            data["attention"] = "unfused" if value in {"unfused", "local"} else "flash"
        elif name in _PIECES:
            virtual[name] = whole(path, argument, value)
    data |= layers_of(path, settings)
    for key, name in (
        ("layers", "num-layers"), ("hidden", "hidden-size"), ("heads", "num-attention-heads"),
        ("sequence", "seq-length"), ("global_batch", "global-batch-size"),
    ):  # fmt: skip
        if key not in data:
            raise FileError(f"{path}: no --{name}, which a training step needs; add it")
    _interleave(data, virtual)
    data["left_out"] = list(left_out(settings))
    data["assumed"] = [] if "vocabulary" in data else ["vocabulary"]
    return workload_from_data(data, str(path), {"training": KIND}, path.stem)


def _interleave(data: dict[str, Any], virtual: dict[str, int]) -> None:
    pieces = virtual.get("num-virtual-stages-per-pipeline-rank", 1)
    if layers := virtual.get("num-layers-per-virtual-pipeline-stage"):
        pieces = max(1, data["layers"] // data.get("pp", 1) // layers)
    if pieces > 1:
        data |= {"interleave": pieces, "schedule": "interleaved"}


def _sharding(path: Path, value: str) -> int:
    for zero, name in _SHARDED.items():
        if value == name:
            return zero
    raise FileError(
        f"{path}: --data-parallel-sharding-strategy {value}; one of {', '.join(_SHARDED.values())}"
    )


def arguments(job: Job) -> list[str]:
    """Return the arguments of Megatron-LM for a job.

    Raises
    ------
    UnsupportedError
        If it has what Megatron-LM has not: adapters, a schedule that puts gradients off.
    """
    if job.lora:
        raise UnsupportedError(
            "Megatron-LM has no arguments for adapters (LoRA); leave out -o or --set lora=0"
        )
    if job.schedule in {"zero-bubble", "dualpipe"}:
        raise UnsupportedError(
            f"Megatron-LM has no schedule {job.schedule!r}; plan with --set schedule=1f1b or "
            "--set schedule=interleaved"
        )
    lines = _sizes(job)
    if job.interleave > 1:
        layers = job.layers // job.pp // job.interleave
        lines.append(f"--num-layers-per-virtual-pipeline-stage {layers}")
    if job.recompute == "full":
        lines += ["--recompute-granularity full", "--recompute-method uniform"]
    elif job.recompute == "selective":
        lines.append("--recompute-granularity selective")
    if job.zero > 1:
        lines += ["--use-megatron-fsdp", f"--data-parallel-sharding-strategy {_SHARDED[job.zero]}"]
        lines += ["--no-gradient-accumulation-fusion", "--ckpt-format fsdp_dtensor"]  # it asks for
    lines += [f"--{name}" for name, on in _flags(job).items() if on]
    lines.append(f"--attention-backend {job.attention}")
    lines += [f"--{of}-dropout {0.1 if job.dropout else 0.0}" for of in ("attention", "hidden")]
    if job.precision in _NARROW:
        lines.append(_NARROW[job.precision])
    return lines


def _sizes(job: Job) -> list[str]:
    """Return the arguments that say how large a model and its batches are, and how it is cut."""
    lines = [
        f"--num-layers {job.layers}",
        f"--hidden-size {job.hidden}",
        f"--num-attention-heads {job.heads}",
        f"--ffn-hidden-size {job.layer(0).ffn_width}",
        f"--padded-vocab-size {job.vocabulary}",
        f"--seq-length {job.sequence}",
        f"--global-batch-size {job.global_batch}",
        f"--micro-batch-size {job.micro_batch}",
        f"--tensor-model-parallel-size {job.tp}",
        f"--pipeline-model-parallel-size {job.pp}",
        f"--context-parallel-size {job.cp}",
    ]
    if job.kv_heads and job.kv_heads != job.heads:
        lines += ["--group-query-attention", f"--num-query-groups {job.kv_heads}"]
    sort = "learned_absolute" if job.positions else "rope"
    lines += [
        f"--position-embedding-type {sort}",
        f"--max-position-embeddings {job.positions or job.sequence}",
    ]
    lines += layer_arguments(job)
    return lines


def _flags(job: Job) -> dict[str, bool]:
    """Return the arguments without a value, and which of them a job has."""
    return {
        "swiglu": job.gated,
        "untie-embeddings-and-output-weights": not job.tied,
        "bf16": job.precision in {"bf16", "fp8", "fp4"},
        "fp16": job.precision == "fp16",
        "sequence-parallel": bool(job.sp),
        "use-distributed-optimizer": job.zero >= 1,
        "grad-reduce-in-bf16": job.gradients == "16-bit" and job.precision != "fp16",
        "accumulate-allreduce-grads-in-fp32": job.gradients == "fp32" and job.precision == "fp16",
        "overlap-grad-reduce": job.overlap_gradients,
        "overlap-param-gather": job.overlap_parameters and job.zero >= 1,
        "overlap-moe-expert-parallel-comm": job.overlap_experts,
        "optimizer-cpu-offload": bool(job.offload),
    }
