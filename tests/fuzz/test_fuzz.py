"""Every reader takes any file: an answer, or one sentence. ``long_run.py`` tries many more."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from fuzz_mutations import mutated
from fuzz_running import feed
from fuzz_targets import TARGETS

from parcast.errors import ParcastError
from parcast.testing import cases, seeds

CASES = sorted((Path(__file__).parent / "cases").iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_a_file_near_to_a_good_one_is_read_or_refused_in_a_sentence(name, tmp_path):
    good = TARGETS[name].seeds()
    assert good
    for seed in seeds(cases(150)):
        feed(name, mutated(Random(f"{name} test {seed}"), good), tmp_path, limit=60)


@pytest.mark.parametrize("name", TARGETS)
def test_the_files_that_are_changed_are_good_ones(name, tmp_path):
    path = tmp_path / f"input-0{TARGETS[name].suffix}"
    read = 0
    for seed in TARGETS[name].seeds():
        path.write_bytes(seed)
        try:
            TARGETS[name].read(path)
        except ParcastError:
            continue
        read += 1
    assert read


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_what_once_failed_is_read_or_refused_in_a_sentence(case, tmp_path):
    feed(case.name.rpartition("-")[0], case.read_bytes(), tmp_path, limit=60)
