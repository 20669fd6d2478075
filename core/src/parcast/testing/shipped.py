"""What shipped machines, workloads and measured data promise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast.api import Registry
from parcast.comparison.lowering import lower, path
from parcast.files.datasets import read_dataset
from parcast.html import flatten
from parcast.model.dataset import Dataset
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.model.workload import Workload
from parcast.quantities.formulas import Formula
from parcast.testing.promises import expect, is_sentence, promised
from parcast.testing.queries import UNIT_MACHINE


def check_machine(registry: Registry, name: str) -> Machine:
    """Check a shipped machine: it is read, described, and says where each number is from."""
    expect(name in registry.machines, f"no machine is called {name!r}: {list(registry.machines)}")
    with promised(f"machine {name!r} must be read"):
        machine = registry.machine(name)
    _check_shipped(machine, name, _numbers(machine.parts, ""))
    return machine


def check_workload(registry: Registry, name: str) -> Workload:
    """Check a shipped workload as `check_machine` does, and at p = 1, 2, 3, 4, 7 and 64."""
    expect(name in registry.workloads, f"no workload is called {name!r}")
    with promised(f"workload {name!r} must be read"):
        workload = registry.workload(name)
    numbers = _numbers({"parameters": workload.parameters}, "")
    _check_shipped(workload, name, [*numbers, *_numbers(workload.content, "")])
    processes = workload.processes
    for p in (1, 2, 3, 4, 7, 64) if processes is None else (processes,):
        query = Query(workload=workload, machine=registry.machine(UNIT_MACHINE), p=p)
        with promised(f"workload {name!r} must be valid at p={p}"):
            if hasattr(workload.content, "check"):
                workload.content.check(query)
            elif path(registry.lowerings, workload.kind, "phases") is not None:
                ready = lower(registry.lowerings, query, "phases")[0]
                ready.workload.content.at(ready)
    return workload


def check_dataset(registry: Registry, name: str) -> Dataset:
    """Check shipped measured data: read without an error, described, of the name of its folder."""
    expect(name in registry.measurements, f"no measured data are called {name!r}")
    with promised(f"measured data {name!r} must be read"):
        dataset = read_dataset(Path(str(registry.measurements[name].path)))
    who = f"measured data {name!r}"
    expect(dataset.name == name, f"{who}: dataset.toml must have the same name")
    for key in ("summary", "source"):
        expect(is_sentence(getattr(dataset, key)), f"{who}: must have a {key} of one line")
    modeling = dataset.modeling
    if modeling is not None and dataset.folder is not None:
        for spec in (modeling.workload, modeling.machine):
            is_there = "{" in spec or "." not in spec or (dataset.folder / spec).is_file()
            expect(is_there, f"{who}: modeling names {spec!r}, which is not in its folder")
    return dataset


def _check_shipped(value: Machine | Workload, name: str, numbers: Iterable[str]) -> None:
    who = f"{type(value).__name__} {name!r}"
    expect(value.name == name, f"{who}: its file must have the same name, not {value.name!r}")
    expect(is_sentence(value.summary), f"{who}: must have a summary of one line")
    expect(is_sentence(value.source), f"{who}: must have a source of one line")
    stated = [key for key, _ in flatten(value.data)]
    for key in numbers:
        if _within(key, stated):
            expect(_within(key, value.sources), f"{who}: [sources] must say where {key} is from")


def _within(key: str, paths: Iterable[str]) -> bool:
    return any(re.match(re.escape(path) + r"([.\[]|$)", key) for path in paths)


def _numbers(value: Any, key: str) -> list[str]:
    """Return the key path of every number and formula in a value."""
    if isinstance(value, Formula | int | float) and not isinstance(value, bool):
        return [key]
    if attrs.has(type(value)):
        value = {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return [path for k, v in value.items() for path in _numbers(v, f"{key}.{k}".lstrip("."))]
    if isinstance(value, list | tuple):
        return [path for i, item in enumerate(value) for path in _numbers(item, f"{key}[{i}]")]
    return []
