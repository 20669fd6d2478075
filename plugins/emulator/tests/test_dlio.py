"""Files of the DLIO benchmark are read as they are."""

from __future__ import annotations

import pytest

import parcast_emulator
from parcast import ParcastError, Registry

REGISTRY = Registry([parcast_emulator])
FILE = """
model: {name: net, parallelism: {tensor: 8}}
framework: pytorch
workflow: {train: True, checkpoint: True}
dataset:
  num_files_train: 168
  num_samples_per_file: 2
  record_length_bytes: 146600628
  record_length_bytes_stdev: 68341808
reader: {batch_size: 7, read_threads: 4}
train: {epochs: 5, computation_time: 0.323}
metric: {au: 0.9}
"""


@pytest.fixture
def read(tmp_path):
    def found(text, suffix=".yaml"):
        file = tmp_path / f"net{suffix}"
        file.write_text(text)
        return REGISTRY.workload(file)

    return found


@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_the_numbers_of_a_file(read, suffix):
    workload = read(FILE, suffix)
    assert workload.name == "net"
    assert dict(workload.parameters) == {
        "files": 168, "samples": 2, "record": 146600628, "deviation": 68341808, "batch": 7,
        "compute": 0.323, "epochs": 5, "most_steps": 0, "servers": 0,
    }  # fmt: skip
    (row,) = REGISTRY.compare(workload, "nvme-100g", p=4, solvers="emulator.lc").rows
    steps = 168 * 2 // (7 * 4)
    assert row.details["closed_form"] == pytest.approx(5 * steps * 0.323)
    assert row.details["operations"] == 2 * 5 * steps * 7 * 4
    assert row.time > row.details["closed_form"]
    (note,) = (
        one
        for one in row.details["assumptions"]
        if one.startswith("these keys change nothing here")
    )
    for key in ("workflow.checkpoint", "reader.read_threads", "model.parallelism", "metric"):
        assert key in note


def test_what_a_run_recorded_is_what_it_was_given(read):
    # as in the submissions to MLPerf Storage: of Hydra, all below one key
    recorded = read("workload:" + FILE.replace("\n", "\n  "))
    given = read(FILE)
    assert dict(recorded.parameters) == dict(given.parameters)
    asked = [REGISTRY.compare(one, "nvme-100g", p=4, solvers="emulator.lc").rows[0].time
             for one in (recorded, given)]  # fmt: skip
    assert asked[0] == asked[1]


def test_names_of_older_versions_and_a_limit_of_steps(read):
    old = FILE.replace("_bytes", "").replace("{name: net, parallelism: {tensor: 8}}", "net")
    workload = read(old.replace("epochs: 5", "epochs: 5, total_training_steps: 15"))
    assert workload.parameters["record"] == 146600628
    (row,) = REGISTRY.compare(workload, "nvme-100g", p=4, solvers="emulator.lc").rows
    assert row.details["closed_form"] == pytest.approx(15 * 0.323)  # 12 of the first epoch, 3
    assert row.details["epochs"] == 2
    assert read(old.replace("epochs: 5", "total_training_steps: -1")).parameters["most_steps"] == 0
    assert read(old.replace("0.323", "{mean: 0.5}")).parameters["compute"] == 0.5


WRONG = {
    "two": ("workload:" + FILE.replace("\n", "\n  ") + "\nother: 1", "no DLIO workload"),
    "recorded": ("workload: 3", "no DLIO workload"),
    "unknown": (FILE.replace("batch_size", "batch_sizes"), "unknown key 'reader.batch_sizes'"),
    "hint": (FILE.replace("batch_size", "batchsize"), "Did you mean 'reader.batch_size'?"),
    "missing": (FILE.replace("num_files_train", "num_files_eval"), "key 'dataset.num_files_train'"),
    "text": (FILE.replace("7,", "many,"), "reader.batch_size = 'many' must be a number"),
    "spread": (FILE.replace("0.323", "{mean: 1, stdev: 2}"), "only a mean is followed"),
    "negative": (FILE.replace("0.323", "-1"), "train.computation_time = -1 must be 0 or more"),
    "zero": (FILE.replace("num_files_train: 168", "num_files_train: 0"), "files"),
    "no training": (FILE.replace("train: True", "train: False"), "workflow.train is off"),
    "some columns": (
        FILE.replace("dataset:", "dataset:\n  parquet: {columns: [{name: a, read: false}]}"),
        "reads some columns only (not 'a')",
    ),
    "no YAML": ("dataset: [", ":1: not valid YAML"),
    "a list": ("- 1", "no DLIO workload"),
    "a table": ("a: 1", "no DLIO workload"),
    "empty": ("", "is empty"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_files_are_one_sentence(tmp_path, name):
    text, sentence = WRONG[name]
    (tmp_path / "net.yaml").write_text(text)
    try:
        (row,) = REGISTRY.compare(
            str(tmp_path / "net.yaml"), "nvme-100g", p=4, solvers="emulator.lc"
        ).rows
        said = row.message
    except ParcastError as error:
        said = str(error)
    assert sentence in said
    assert "\n" not in said


def test_a_file_is_no_machine(tmp_path):
    (tmp_path / "net.yaml").write_text(FILE)
    with pytest.raises(ParcastError):
        REGISTRY.machine(tmp_path / "net.yaml")
