"""Files of training jobs, and of models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parcast import KindEntry
from parcast.errors import FileError
from parcast.files import read_data, workload_from_data
from parcast.model import Workload
from parcast_training.steps.job import with_parameters
from parcast_training.steps.titan import titan_job

#: The kind, as its plugin registers it.
KIND = KindEntry(
    "training", "parcast_training.steps.kind:TrainingJob", "A step of training a language model."
)

#: What a config.json of Hugging Face says.
_MODEL = {
    "num_hidden_layers": "layers",
    "hidden_size": "hidden",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "head_dim": "head_dim",
    "intermediate_size": "ffn",
    "vocab_size": "vocabulary",
    "max_position_embeddings": "sequence",
    "num_local_experts": "experts",
    "num_experts": "experts",
    "num_experts_per_tok": "active",
}


def read_job(path: Path) -> Workload:
    """Return the job in a table, of torchtitan, or the model in a config.json.

    Whole numbers are parameters.

    A model gets a batch of one sample of its longest sequence, which ``--set`` changes.
    """
    data = read_data(path)
    if "kind" not in data and "num_hidden_layers" in data:
        data = _of_model(data, path)
    elif "kind" not in data and "flavor" in data.get("model", {}):
        data = titan_job(data, path)
    return with_parameters(workload_from_data(data, str(path), {"training": KIND}, path.stem))


def _of_model(config: Mapping[str, Any], path: Path) -> dict[str, Any]:
    model = {_MODEL[key]: value for key, value in config.items() if key in _MODEL and value}
    for key in ("layers", "hidden", "heads", "sequence"):
        if key not in model:
            raise FileError(f"{path}: no number of {key}; write a table of kind 'training' instead")
    return {
        "kind": "training",
        "name": path.parent.name or path.stem,
        "gated": config.get("hidden_act") in {"silu", "swiglu"},
        "tied": bool(config.get("tie_word_embeddings", True)),
        "global_batch": 1,
        **model,
    }
