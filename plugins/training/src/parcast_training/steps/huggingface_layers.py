"""What a config.json of Hugging Face says of layers: latent attention, experts, windows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, shorten

#: Of latent attention, as DeepSeek-V2 and those after it name it.
_LATENT = {
    "kv_lora_rank": "kv_rank",
    "q_lora_rank": "q_rank",
    "qk_nope_head_dim": "head_dim",
    "qk_rope_head_dim": "rope_dim",
    "v_head_dim": "value_dim",
}

#: Models whose layers all have the window that their configuration states.
_ALL_WINDOWED = {"mistral", "mixtral", "starcoder2", "phi3", "phimoe", "phi4mm"}

#: Models of which each so many-th layer sees all tokens, where their configuration says nothing.
_FULL_EVERY = {"gemma2": 2, "gemma3_text": 6, "cohere2": 4}

#: What layers are called that see all tokens, or those of a window.
_FULL, _WINDOWED = {"full_attention", "attention"}, {"sliding_attention"}


def latent_attention(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return what is compressed to what, empty where nothing is.

    Raises
    ------
    FileError
        If the width of a head's queries is not stated.
    """
    if not config.get("kv_lora_rank"):
        return {}
    for name in ("qk_nope_head_dim", "qk_rope_head_dim"):
        if not config.get(name):
            raise FileError(f"{path}: kv_lora_rank, and no {name}; add it")
    return {key: config[name] for name, key in _LATENT.items() if config.get(name)}


def expert_layers(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return widths of experts, and which layers have none.

    Raises
    ------
    FileError
        If it says that there are experts, and not how many a token goes to.
    """
    width, whole = config.get("moe_intermediate_size"), config.get("intermediate_size")
    if not config.get("num_experts_per_tok") and not config.get("num_experts_per_token"):
        raise FileError(f"{path}: experts, and no num_experts_per_tok; state how many a token has")
    model: dict[str, Any] = {"ffn": width} if width else {}
    if shared := config.get("shared_expert_intermediate_size"):
        model["shared_ffn"] = shared
    elif count := config.get("n_shared_experts"):
        model["shared_ffn"] = count * (width or whole or 0)
    if first := dense_first(config):
        model |= {"dense_layers": first, "dense_ffn": whole}
    return model


def dense_first(config: Mapping[str, Any]) -> Any:
    """Return how many layers before the first with experts have none."""
    listed = config.get("moe_layer_freq")
    if isinstance(listed, list) and 1 in listed:
        return listed.index(1)
    return config.get("first_k_dense_replace") or 0


def are_dense_first(config: Mapping[str, Any]) -> bool:
    """Return whether layers without experts, if any, are the first ones."""
    listed = config.get("moe_layer_freq") or 1
    if isinstance(listed, list):
        first = dense_first(config)
        return listed == [0] * first + [1] * (len(listed) - first)
    return bool(listed == 1 and (config.get("decoder_sparse_step") or 1) == 1)


def windows(config: Mapping[str, Any], path: Path) -> dict[str, int]:
    """Return the window of a model's layers, and which of them see all tokens.

    Raises
    ------
    FileError
        If it does not say which layers have it.
    """
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    if not window:
        return {}
    if not isinstance(window, int) or window < 0:
        raise FileError(f"{path}: sliding_window = {window!r}: write a whole number")
    if window >= (config.get("max_position_embeddings") or window + 1):
        return {}
    period = _full_every(config)
    if period is None:
        raise FileError(f"{path}: sliding_window = {window}: it does not say which layers have it; "
                        "take it out where sequences are no longer, or write a table of kind "
                        "'training' with window and full_every")  # fmt: skip
    return {"window": window, **({"full_every": period} if period else {})}


def _full_every(config: Mapping[str, Any]) -> int | None:
    """Return which layers see all tokens: each so many-th, none for 0; None where it is open."""
    kinds = [str(kind) for kind in config.get("layer_types") or ()]
    pattern = config.get("sliding_window_pattern")
    if kinds:
        return _period([kind in _FULL for kind in kinds])
    if isinstance(pattern, str):
        return (
            _period([letter == "G" for letter in pattern]) if set(pattern) <= {"L", "G"} else None
        )
    kind = str(config.get("model_type", ""))
    if isinstance(pattern, int):
        return pattern
    return 0 if kind in _ALL_WINDOWED else _FULL_EVERY.get(kind)


def _period(whole: list[bool]) -> int | None:
    """Return the number of layers from one that sees all to the next, if they are alike."""
    if not any(whole):
        return 0
    period = whole.index(True) + 1
    return period if whole == [(i + 1) % period == 0 for i in range(len(whole))] else None


def unlike_attention(config: Mapping[str, Any]) -> str:
    """Return why the sorts of attention are none that a step has, if so."""
    kinds = {str(kind) for kind in config.get("layer_types") or ()}
    if unlike := kinds - _FULL - _WINDOWED:
        return f"layer_types: attention is {', '.join(sorted(unlike))} in some layers"
    pattern = config.get("sliding_window_pattern")
    if pattern and not config.get("sliding_window"):
        spelt = f"sliding_window_pattern = {shorten(pattern)}"
        return f"{spelt}: it says that layers differ, and no sliding_window says how"
    return ""
