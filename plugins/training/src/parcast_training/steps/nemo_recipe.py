"""Recipes of NeMo 2: Python whose settings are those of Megatron-LM, written otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast.errors import FileError, ParcastError
from parcast.files import read_text
from parcast.model import Workload
from parcast_training.steps.megatron import job_of
from parcast_training.steps.models import LLAMA_3
from parcast_training.steps.recipe_text import Open, Part, Recipe

#: Settings that are arguments of another name.
_RENAMED = {
    "virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
    "num_layers_in_first_pipeline_stage": "decoder-first-pipeline-num-layers",
    "num_layers_in_last_pipeline_stage": "decoder-last-pipeline-num-layers",
    "num_moe_experts": "num-experts",
}

#: Where a recipe states what counts, and what is taken of it; all settings where nothing is named.
_PARTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("model", "config"), ()),
    (("trainer", "strategy"), ()),
    (("data",), ("seq_length", "global_batch_size", "micro_batch_size")),
    (("trainer", "strategy", "ddp"), ("overlap_grad_reduce", "overlap_param_gather")),
)

#: Settings whose values are no numbers or words of an argument's, and which say nothing of time.
_PASSED_OVER = {
    "ddp", "config", "pipeline_dtype", "activation_func", "params_dtype", "autocast_dtype",
    "init_method", "rotary_base", "progress_interval", "ckpt_load_strictness", "tokenizer",
    "enable_autocast", "transformer_layer_spec", "forward_step_fn", "data_step_fn", "optim",
    "model_transform", "position_embedding_type", "normalization", "scale_factor",
}  # fmt: skip


def read_recipe(path: Path) -> Workload:
    """Return the job of a recipe's function ``pretrain_recipe``, or of its only recipe.

    The text is read and never executed: what other files, callers or loops say is refused.

    Raises
    ------
    FileError
        If it is no Python, or does not state what a step needs.
    """
    try:
        recipe = Recipe(ast.parse(read_text(path)))
    except (SyntaxError, RecursionError, ValueError) as error:
        raise FileError(f"{path}: not valid Python: {error}") from None
    name = _name(recipe, path)
    try:
        stated = recipe.returned(name)
    except ParcastError as error:
        raise FileError(f"{path}: {error}; write it out") from None
    if not isinstance(stated, Part):
        raise FileError(f"{path}: {name} returns no run.Partial; a recipe of NeMo 2 does")
    return job_of(path, dict(_settings(recipe, stated, path)))


def _name(recipe: Recipe, path: Path) -> str:
    names = [name for name in recipe.functions if name.endswith("recipe")]
    if "pretrain_recipe" in names:
        return "pretrain_recipe"
    if not names:
        raise FileError(f"{path}: no function pretrain_recipe, which a recipe of NeMo 2 has")
    if len(names) != 1:
        spelt = ", ".join(names)
        raise FileError(f"{path}: no function pretrain_recipe, and not just one whose name ends in "
                        f"recipe: {spelt}; leave one")  # fmt: skip
    return names[0]


def _settings(recipe: Recipe, stated: Part, path: Path) -> Iterator[tuple[str, str]]:
    """Yield settings as arguments of Megatron-LM."""
    yield from _model(recipe, _part(stated, ("model", "config"), path), path)
    for place, names in _PARTS:
        if place[-1] == "ddp" and not isinstance(_at(stated, place), Part):
            continue
        part = _part(stated, place, path)
        for key, value in part.settings.items():
            if (names and key not in names) or key in _PASSED_OVER:
                continue
            if isinstance(value, Open):
                _refuse(path, ".".join((*place, key)), value)
            if value not in (None, False) and not isinstance(value, Part | list):
                yield _RENAMED.get(key, key.replace("_", "-")), _spelt(value)
    yield from _precision(stated, path)
    yield from _optimizer(stated, path)


def _spelt(value: Any) -> str:
    return "true" if value is True else str(value)


def _at(stated: Part, place: tuple[str, ...]) -> Any:
    value: Any = stated
    for name in place:
        if not isinstance(value, Part):
            return value
        value = value.settings.get(name)
    return value


def _part(stated: Part, place: tuple[str, ...], path: Path) -> Part:
    """Return what is stated at a place.

    Raises
    ------
    FileError
        If nothing is, or it is for another file to say.
    """
    value = _at(stated, place)
    if isinstance(value, Part):
        return value
    if isinstance(value, Open):
        _refuse(path, ".".join(place), value)
    raise FileError(f"{path}: the recipe states no {'.'.join(place)}, which a training step needs")


def _refuse(path: Path, name: str, value: Open) -> None:
    raise FileError(f"{path}: {name} = {value.text} (line {value.line}) is not said in this file, "
                    "which is read and never run; write it out here")  # fmt: skip


def _model(recipe: Recipe, config: Part, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the numbers of a model by its class, in the text or known from its paper."""
    fields = recipe.of_class(config.target)
    for key, value in fields.items():
        if isinstance(value, int | str) and value is not False and key not in _PASSED_OVER:
            yield _RENAMED.get(key, key.replace("_", "-")), _spelt(value)
    known = {f"Llama{v}Config{size}" for v in ("3", "31", "32") for size in LLAMA_3}
    numbers = {**fields, **config.settings}
    if config.target in known:
        yield from _llama(config.target.partition("Config")[2])
    elif not {"num_layers", "hidden_size", "num_attention_heads"} <= numbers.keys():
        raise FileError(f"{path}: model.config = {config.target} (line {config.line}) has its "
                        "numbers in another file; known are Llama3Config8B and its like; write "
                        "num_layers, hidden_size, num_attention_heads beside it")  # fmt: skip
    usual = "learned_absolute" if config.target.startswith("GPT") else "rope"
    yield "position-embedding-type", str(numbers.get("position_embedding_type") or usual)
    if numbers.get("gated_linear_unit") is True:
        yield "swiglu", "true"
    if numbers.get("share_embeddings_and_output_weights") is False:
        yield "untie-embeddings-and-output-weights", "true"


def _llama(size: str) -> Iterator[tuple[str, str]]:
    layers, hidden, heads, kv_heads, ffn = LLAMA_3[size]
    yield from {
        "num-layers": str(layers), "hidden-size": str(hidden), "num-attention-heads": str(heads),
        "num-query-groups": str(kv_heads), "ffn-hidden-size": str(ffn), "swiglu": "true",
        "padded-vocab-size": "128256", "attention-dropout": "0.0", "hidden-dropout": "0.0",
    }.items()  # fmt: skip
    if size not in {"1B", "3B"}:
        yield "untie-embeddings-and-output-weights", "true"


def _precision(stated: Part, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the precision that a plugin's name says."""
    plugin = _at(stated, ("trainer", "plugins"))
    text = plugin.text if isinstance(plugin, Open) else ""
    if isinstance(plugin, Part):
        text = str(plugin.settings.get("precision", ""))
    if "bf16" not in text and "fp16" not in text:
        raise FileError(f"{path}: trainer.plugins = {text or plugin} names no precision; state one "
                        "such as bf16_mixed()")  # fmt: skip
    yield "bf16" if "bf16" in text else "fp16", "true"
    if "fp8" in text:
        yield "fp8-format", "hybrid"


def _optimizer(stated: Part, path: Path) -> Iterator[tuple[str, str]]:
    """Yield whether states are split over the data-parallel group, and what sums are of."""
    optimizer = stated.settings.get("optim")
    if isinstance(optimizer, Open) and optimizer.text.startswith("distributed_fused_adam"):
        yield "use-distributed-optimizer", "true"
    elif isinstance(optimizer, Part):
        config = optimizer.settings.get("config")
        if isinstance(config, Part) and config.settings.get("use_distributed_optimizer"):
            yield "use-distributed-optimizer", "true"
    elif isinstance(optimizer, Open):
        _refuse(path, "optim", optimizer)
    ddp = _at(stated, ("trainer", "strategy", "ddp"))
    settings: Mapping[str, Any] = ddp.settings if isinstance(ddp, Part) else {}
    if settings.get("grad_reduce_in_fp32") is False:
        yield "grad-reduce-in-bf16", "true"
