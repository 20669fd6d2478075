"""A model's config.json of Hugging Face, as the model of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, shorten
from parcast_training.steps.huggingface_layers import (
    are_dense_first,
    expert_layers,
    latent_attention,
    unlike_attention,
    windows,
)

#: What a config.json says; the later of two keys counts.
_MODEL = {
    "n_layer": "layers",
    "num_hidden_layers": "layers",
    "n_embd": "hidden",
    "n_embed": "hidden",
    "hidden_size": "hidden",
    "n_head": "heads",
    "num_attention_heads": "heads",
    "n_head_kv": "kv_heads",
    "num_kv_heads": "kv_heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "n_inner": "ffn",
    "ffn_dim": "ffn",
    "intermediate_size": "ffn",
    "vocab_size": "vocabulary",
    "n_positions": "sequence",
    "seq_length": "sequence",
    "max_position_embeddings": "sequence",
    "num_local_experts": "experts",
    "num_experts": "experts",
    "n_routed_experts": "experts",
    "num_experts_per_tok": "active",
    "num_nextn_predict_layers": "mtp",
}

#: What a job needs, in words.
_WORDS = {
    "layers": "layers",
    "hidden": "numbers of a token",
    "heads": "heads of attention",
    "sequence": "tokens of a sample",
}

#: Architectures that predict the next token, by how their names end.
_DECODERS = ("ForCausalLM", "LMHeadModel")

#: Stand in configurations of other models than decoders whose layers are alike: key and why.
_OTHERS = {
    "is_encoder_decoder": "it has an encoder",
    "type_vocab_size": "its sentences come in pairs, as those of an encoder",
    "patch_size": "it sees pictures",
    "vision_config": "it sees pictures",
    "mlp_only_layers": "some of its layers have no experts",
    "state_size": "its layers are recurrent",
    "mamba_d_state": "its layers are recurrent",
    "hybrid_override_pattern": "its layers differ",
    "hybrid_layer_pattern": "its layers differ",
    "block_configs": "its layers differ",
    "conv_kernel": "it convolves",
    "word_embed_proj_dim": "its embedding has another width",
}

#: How keys sound that say that layers differ, or have other weights.
_STRUCTURE = re.compile(
    r"expert|moe|mamba|ssm|recurr|rwkv|linear_|conv|window|chunk|shared|lora|pattern|period"
    r"|per_layer|block_types?|altup|laurel|cross_|encoder|vision|audio|attn_type|layer_type|sparse"
    r"|index(er)?_|cla_|latent|layer_freq"
)

#: Of these, what says nothing of the kind: routing, losses, and what `_MODEL` and others read.
_HARMLESS = re.compile(
    r"num_local_experts|num_experts|n_routed_experts|(num_)?experts_per_tok(en)?|is_encoder_decoder"
    r"|moe_intermediate_size|.*router.*|.*aux_loss.*|.*routing.*|(use_)?sliding_window"
    r"|max_window_layers|moe_dropout|moe_layer_freq|chunk_size_feed_forward|cross_attention_.*"
    r"|layer_types|no_rope_layer_interval|moe_norm_.*|.*dtype|(kv|q)_lora_rank|n_shared_experts"
    r"|shared_expert_intermediate_size|sliding_window_(pattern|size)"
)

#: What a step has not: layers that predict further tokens in another way, and groups of experts of
#: which a token has a few alone.
_LEFT_OUT = ("num_mtp_modules", "n_group", "topk_group")

#: Models whose embedding and output layer differ where nothing is said, as their classes have it.
_UNTIED = {
    "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "phi", "phi3",
    "phimoe", "gpt_neox", "gptj", "olmo", "olmo2", "olmoe", "stablelm", "nemotron", "granite",
    "granitemoe", "glm", "glm4", "seed_oss", "apertus", "arcee", "minimax_m2", "helium",
    "deepseek_v2", "deepseek_v3", "kimi_k2", "glm4_moe", "dots1", "gpt_oss", "minicpm3",
}  # fmt: skip


#: Models whose positions are learned, and rows that their tables have beside those of a sample.
_LEARNED = {"gpt2": 0, "gpt_neo": 0, "gpt_bigcode": 0, "biogpt": 2, "opt": 2, "openai-gpt": 0}


def is_model(data: Mapping[str, Any]) -> bool:
    """Return whether data are a model's, by their keys."""
    return any(key in data for key in ("num_hidden_layers", "n_layer", "architectures"))


def model_of(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a job's data of a config.json, with a batch of one sample.

    Raises
    ------
    FileError
        If the model is no decoder as a job has it, or lacks a number.
    """
    _check_alike(config, path)
    model = {_MODEL[key]: config[key] for key in _MODEL if config.get(key)}
    for key, words in _WORDS.items():
        if key not in model:
            names = " or ".join(name for name, of in _MODEL.items() if of == key)
            raise FileError(
                f"{path}: the {words} are missing; add {names}, or write a table of kind 'training'"
            )
    if model.get("experts", 1) > 1:
        model |= expert_layers(config, path)
    if config.get("multi_query") and not config.get("new_decoder_architecture"):
        model["kv_heads"] = 1
    if latent := latent_attention(config, path):
        model = {key: value for key, value in model.items() if key != "kv_heads"} | latent
    kind = str(config.get("model_type", ""))
    tied = config.get("tie_word_embeddings")
    return {
        "kind": "training",
        "name": path.parent.name or path.stem,
        "gated": config.get("hidden_act") in {"silu", "swiglu"} or kind.startswith("gemma"),
        "tied": kind not in _UNTIED if tied is None else bool(tied),
        "positions": model["sequence"] + _LEARNED[kind] if kind in _LEARNED else 0,
        "global_batch": 1,
        "left_out": [f"{k} = {config[k]}" for k in _LEFT_OUT if config.get(k) not in {None, 0, 1}],
        **model,
        **windows(config, path),
    }


def _check_alike(config: Mapping[str, Any], path: Path) -> None:
    if reason := _unlike(config):
        raise FileError(f"{path}: {reason}, and a training step is of a decoder whose layers are "
                        "alike, but for the first without experts and for windows; write a table "
                        "of kind 'training' for what comes near")  # fmt: skip


def _unlike(config: Mapping[str, Any]) -> str:
    """Return why a model is no decoder whose layers are alike, if it is none."""
    names = [str(name) for name in config.get("architectures") or ()]
    if names and not any(name.endswith(_DECODERS) for name in names):
        return f"architectures: {', '.join(names)} is no model of a next word alone"
    for key, why in _OTHERS.items():
        value = config.get(key)
        alike = {"type_vocab_size": 1, "word_embed_proj_dim": config.get("hidden_size")}.get(key)
        if value and value != alike:
            return f"{key}: {why}"
    if reason := unlike_attention(config):
        return reason
    if not are_dense_first(config):
        return "decoder_sparse_step or moe_layer_freq: layers between others have no experts"
    if config.get("model_type") == "qwen":
        return "model_type qwen: its intermediate_size counts both matrices up together"
    for key, value in config.items():
        if _STRUCTURE.search(key) and not _HARMLESS.fullmatch(key) and set(_listed(value)) - {1}:
            return f"{key} = {shorten(value)}: it says that layers differ, or have other weights"
    return ""


def _listed(value: Any) -> list[Any]:
    """Return what a value says, as a list: nothing where it is off."""
    values = value if isinstance(value, list) else [value] if value else []
    return [repr(part) if isinstance(part, dict | list) else part for part in values]
