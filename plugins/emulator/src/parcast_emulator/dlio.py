"""Reads the YAML files of the DLIO benchmark, and so of MLPerf Storage, as they are.

What a run recorded of its own (``configs/config.yaml``, ``.hydra/config.yaml``) has all of them
below one key, ``workload``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from parcast import KindEntry, Workload
from parcast.errors import FileError, UnsupportedError, did_you_mean
from parcast.files import read_text, workload_from_data

#: Where a number of the emulator stands in a file, under the names of all its versions.
_USED: Mapping[str, tuple[str, ...]] = {
    "files": ("dataset.num_files_train",),
    "samples": ("dataset.num_samples_per_file",),
    "size": ("dataset.record_length_bytes", "dataset.record_length"),
    "deviation": ("dataset.record_length_bytes_stdev", "dataset.record_length_stdev"),
    "batch": ("reader.batch_size",),
    "compute": ("train.computation_time",),
    "epochs_number": ("train.epochs",),
    "most_steps": ("train.total_training_steps",),
}
_DEFAULTS = {"samples": 1, "deviation": 0, "batch": 1, "epochs_number": 1, "most_steps": 0}

#: Parameters whose names differ from the emulator's, since formulas know `size` as another.
_NAMES = {"size": "record", "epochs_number": "epochs"}

#: Keys that say nothing about reading and computing, or nothing that is simulated.
_UNUSED_IN: Mapping[str, str] = {
    "": "framework checkpoint metric profiling storage output",
    "model": "name type model_size model_size_bytes model_datatype optimizer_datatype num_layers "
    "layer_parameters optimization_groups parallelism transformer",
    "workflow": "train generate_data checkpoint evaluation profiling debug",
    "dataset": "data_folder format num_files_eval num_subfolders_train num_subfolders_eval "
    "file_prefix compression compression_level enable_chunking chunk_size keep_files record_dims "
    "record_element_type parquet record_length_bytes_resize record_length_resize",
    "reader": "data_loader data_loader_classname data_loader_sampler batch_size_eval read_threads "
    "computation_threads multiprocessing_context pin_memory prefetch_size sample_shuffle "
    "file_shuffle seed_change_epoch transfer_size shuffle_size dont_use_mmap odirect "
    "preprocess_time reader_classname",
    "train": "seed_change_epoch seed",
    "evaluation": "eval_time epochs_between_evals",
}
_UNUSED = {
    f"{table}.{key}".removeprefix(".") for table, keys in _UNUSED_IN.items() for key in keys.split()
}


def read(path: Path) -> Workload:
    """Return the training that a DLIO file describes, as a workload of kind ``emulator``.

    Raises
    ------
    FileError
        If the file is no YAML, or has an unknown or a missing key.
    UnsupportedError
        If it describes no training.
    """
    data = _parsed(path)
    where = str(path)
    values = dict(_leaves(data, "", where))
    if values.get("workflow.train", True) is not True:
        raise UnsupportedError(
            f"{where}: workflow.train is off; only training is read from DLIO files (the emulator "
            "'checkpoint' has parameters of its own)"
        )
    _refuse_columns(values.get("dataset.parquet"), where)
    numbers = {name: _number(name, keys, values, where) for name, keys in _USED.items()}
    used = {key for keys in _USED.values() for key in keys}
    unused = [key for key in values if key not in used]
    parameters = {_NAMES.get(name, name): value for name, value in numbers.items()} | {"servers": 0}
    table = {
        "name": path.stem,
        "kind": "emulator",
        "parameters": parameters,
        "dlio": {name: _NAMES.get(name, name) for name in (*numbers, "servers")}
        | {"unused": unused},
    }
    kind = KindEntry("emulator", "parcast_emulator.emulators.content:Emulated", "")
    return workload_from_data(table, where, {"emulator": kind}, path.stem)


def _refuse_columns(parquet: Any, where: str) -> None:
    """Refuse a file of which only some columns are read: how many bytes these are is not said."""
    columns = parquet.get("columns") if isinstance(parquet, Mapping) else None
    for column in columns if isinstance(columns, list) else []:
        if isinstance(column, Mapping) and column.get("read") is False:
            raise UnsupportedError(
                f"{where}: dataset.parquet.columns reads some columns only (not "
                f"{column.get('name')!r}); only whole records are modeled"
            )


def _parsed(path: Path) -> Mapping[str, Any]:
    import yaml  # type: ignore[import-untyped]

    try:
        data = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        position = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise FileError(f"{path}{position}: not valid YAML: {problem}") from None
    if isinstance(data, Mapping) and set(data) == {"workload"}:
        data = data["workload"]
    if not isinstance(data, Mapping) or not {"dataset", "workflow"} & data.keys():
        raise FileError(f"{path}: no DLIO workload; one has tables such as dataset, reader, train")
    return data


def _leaves(data: Mapping[Any, Any], above: str, where: str) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a file that are known, whole where all below is unused."""
    keys = _UNUSED | {key for keys in _USED.values() for key in keys}
    for key, value in data.items():
        path = f"{above}{key}"
        if path in keys:
            yield path, value
        elif isinstance(value, Mapping) and any(
            known_key.startswith(f"{path}.") for known_key in keys
        ):
            yield from _leaves(value, f"{path}.", where)
        elif above == "" and key == "model" and isinstance(value, str):  # as old files name it
            yield path, value
        else:
            hint = did_you_mean(path, keys)
            raise FileError(f"{where}: unknown key {path!r}.{hint}")


def _number(name: str, keys: tuple[str, ...], values: Mapping[str, Any], where: str) -> float:
    stated = [(key, values[key]) for key in keys if values.get(key) is not None]
    if not stated:
        if name in _DEFAULTS:
            return _DEFAULTS[name]
        raise FileError(f"{where}: missing key {keys[0]!r}")
    key, value = stated[0]
    if isinstance(value, Mapping) and set(value) == {"mean"}:
        value = value["mean"]
    if name == "most_steps" and value == -1:  # as DLIO says that there is no limit
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        hint = "; only a mean is followed" if isinstance(value, Mapping) else ""
        raise FileError(f"{where}: {key} = {value!r} must be a number{hint}")
    if not 0 <= value < float("inf"):
        raise FileError(f"{where}: {key} = {value!r} must be 0 or more")
    return value
