"""Files of training jobs, and of models."""

from __future__ import annotations

from pathlib import Path

from parcast import KindEntry
from parcast.errors import FileError
from parcast.files import read_data, workload_from_data
from parcast.model import Workload
from parcast_training.steps.deepspeed import deepspeed_job, is_deepspeed
from parcast_training.steps.huggingface import is_model, model_of
from parcast_training.steps.titan import is_titan, titan_job

#: The kind, as its plugin registers it.
KIND = KindEntry(
    "training", "parcast_training.steps.kind:TrainingJob", "A step of training a language model."
)


def read_job(path: Path) -> Workload:
    """Return the job in a table, of torchtitan or DeepSpeed, or the model in a config.json.

    A model gets a batch of one sample of its longest sequence, which ``--set`` changes.
    """
    data = read_data(path)
    if "kind" not in data and is_model(data):
        data = model_of(data, path)
    elif "kind" not in data and is_deepspeed(data):
        data = deepspeed_job(data, path)
    elif "kind" not in data and is_titan(data):
        data = titan_job(data, path)
    elif "kind" not in data:
        raise FileError(f"{path}: it states neither kind = 'training' nor a [model] with name and "
                        "flavor, as configurations of torchtitan do")  # fmt: skip
    return workload_from_data(data, str(path), {"training": KIND}, path.stem)
