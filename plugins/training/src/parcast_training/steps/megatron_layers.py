"""Arguments of Megatron-LM of layers that differ, and of attention of other sorts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, UnsupportedError
from parcast_training.steps.job import Job

#: Of latent attention, and what counts where nothing is said.
_LATENT = {
    "kv-lora-rank": ("kv_rank", 32),
    "q-lora-rank": ("q_rank", 0),
    "qk-head-dim": ("head_dim", 128),
    "qk-pos-emb-head-dim": ("rope_dim", 64),
    "v-head-dim": ("value_dim", 128),
}

#: Sorts of positions that are learned, in Megatron-LM and in its fork for DeepSpeed.
_LEARNED = {"learned_absolute", "absolute"}

#: Arguments of positions that are not learned.
_NOT_LEARNED = {"use-rotary-position-embeddings", "no-position-embedding"}

#: Which layers have experts: all behind the first ones.
LAYERS_WITH_EXPERTS = r"1|\(?(?:\[0\](?:\*(?P<first>\d+))?(?P<some>\+))?\[1\](?:\*\d+)?\)?"

#: Tokens to the left and to the right that a token sees.
WINDOW = r"(-?\d+),.*"


def layers_of(path: Path, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return what settings say of latent attention, windows, and layers without experts.

    Raises
    ------
    FileError
        If a value is no whole number.
    """
    data: dict[str, Any] = {}
    if "multi-latent-attention" in settings:
        for name, (key, default) in _LATENT.items():
            data[key] = whole(path, f"--{name}", settings.get(name, str(default)))
    if match := re.fullmatch(WINDOW, settings.get("window-size", "")):
        data["window"] = max(0, int(match[1]) + 1)
        if "window-attn-skip-freq" in settings and data["window"]:
            period = settings["window-attn-skip-freq"]
            data["full_every"] = whole(path, "--window-attn-skip-freq", period)
    if "num-experts" in settings:
        data |= _experts(path, settings)
    return data | _positions(settings)


def _positions(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the rows of a learned table of positions, which counts where nothing is said."""
    sort = settings.get("position-embedding-type", "learned_absolute")
    if sort not in _LEARNED or _NOT_LEARNED & settings.keys():
        return {}
    rows = settings.get("max-position-embeddings", "")
    return {"positions": int(rows if rows.isdecimal() else settings.get("seq-length", "0"))}


def _experts(path: Path, settings: Mapping[str, str]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if "moe-ffn-hidden-size" in settings:
        data["ffn"] = whole(path, "--moe-ffn-hidden-size", settings["moe-ffn-hidden-size"])
    if "moe-shared-expert-intermediate-size" in settings:
        name = "moe-shared-expert-intermediate-size"
        data["shared_ffn"] = whole(path, f"--{name}", settings[name])
    match = re.fullmatch(LAYERS_WITH_EXPERTS, settings.get("moe-layer-freq", "1"))
    if match and match["some"]:
        data["dense_layers"] = int(match["first"] or 1)
        if "ffn-hidden-size" in settings:
            data["dense_ffn"] = whole(path, "--ffn-hidden-size", settings["ffn-hidden-size"])
    return data


def whole(path: Path, name: str, value: str) -> int:
    """Return a setting's whole number.

    Raises
    ------
    FileError
        If it is none.
    """
    if value.startswith("-") and value[1:].isdigit():
        raise FileError(f"{path}: {name} {value} is below 0; write a whole number")
    if not (value.isascii() and value.isdigit()):
        spelt = value or "nothing"
        raise FileError(f"{path}: {name} {spelt} is no whole number; write it out")
    return int(value)


def layer_arguments(job: Job) -> Iterator[str]:
    """Yield the arguments for what differs from a decoder whose layers are all alike.

    Raises
    ------
    UnsupportedError
        If values of a head have another width than queries, and there are no arguments for it.
    """
    if job.kv_rank:
        yield "--multi-latent-attention"
        widths = {"head_dim": job.plain_dim, "value_dim": job.value_dim or job.plain_dim}
        for name, (key, _) in _LATENT.items():
            if width := widths.get(key, getattr(job, key)):
                yield f"--{name} {width}"
    elif job.head_dim:
        yield f"--kv-channels {job.head_dim}"
    if not job.kv_rank and job.value_dim not in {None, job.plain_dim}:
        raise UnsupportedError(
            f"Megatron-LM has no argument for value_dim = {job.value_dim} without kv_rank; leave "
            f"out -o or state value_dim = {job.plain_dim}"
        )
    if job.window:
        yield f"--window-size {job.window - 1},0"
        yield from (f"--window-attn-skip-freq {job.full_every}",) if job.full_every else ()
    if job.mtp:
        yield f"--mtp-num-layers {job.mtp}"
    for name in ("first", "last"):
        if count := getattr(job, f"{name}_layers"):
            yield f"--decoder-{name}-pipeline-num-layers {count}"
    if job.experts > 1:
        yield from _expert_arguments(job)


def _expert_arguments(job: Job) -> Iterator[str]:
    yield f"--num-experts {job.experts}"
    yield f"--moe-router-topk {job.active}"
    yield f"--expert-model-parallel-size {job.ep}"
    if job.shared_ffn:
        yield f"--moe-shared-expert-intermediate-size {job.shared_ffn}"
    if job.dense_layers:
        pattern = f"([0]*{job.dense_layers}+[1]*{job.layers - job.dense_layers})"
        yield f"--moe-layer-freq '{pattern}'"  # which a shell would take for names of files
        yield f"--moe-ffn-hidden-size {job.ffn_width}"
