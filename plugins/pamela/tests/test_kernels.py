"""The rules give the same formulas whichever kernel does the arithmetic: ours, or SymPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import parcast_pamela
from parcast import Registry
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.reading import read_model

from .random_models import models, read

pytest.importorskip("sympy")
from parcast.testing import cases

from ..benchmarks.sympy_kernel import SympyKernel  # noqa: TID252  (of a script, no package)

WORKLOADS = Registry([parcast_pamela]).workloads
QUANTITIES = ("critical_path", "contention", "bound", "upper")


def agree(model):
    ours, theirs = compile_model(model), compile_model(model, kernel=SympyKernel())
    for quantity in QUANTITIES:
        assert repr(getattr(ours, quantity)) == repr(getattr(theirs, quantity)), quantity


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("machine-repair", None),
        ("unit-pipeline", None),
        ("memory-banks", None),
        ("adi-i", None),
        ("matmul", "das1"),
        ("gauss-cyclic", "das1"),
        ("psrs", "das1"),
    ],
)
def test_case_studies(name, machine):
    agree(read_model(Path(str(WORKLOADS[name].path)), machine))


@settings(max_examples=cases(15), suppress_health_check=list(HealthCheck))
@given(models())
def test_random_models(text):
    agree(read(text))
