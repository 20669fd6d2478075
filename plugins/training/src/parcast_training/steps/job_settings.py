"""What is set of a training job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from parcast.errors import InvalidPointError, UnknownNameError, did_you_mean
from parcast.files import structure
from parcast.model import Query, Workload
from parcast_training.steps.decoder import Flag
from parcast_training.steps.job import Job

_FIELDS = attrs.fields_dict(attrs.resolve_types(Job))


def job_at(query: Query) -> Job:
    """Return the job with what is set.

    Raises
    ------
    InvalidPointError
        If a value is no whole number, or too small.
    """
    job: Job = query.workload.content
    changed: dict[str, Any] = {}
    for name, value in query.parameters.items():
        if name not in _FIELDS:
            continue
        least = 0 if _FIELDS[name].type == Flag else 1
        if value != int(value) or value < least:
            raise InvalidPointError(
                f"workload {query.workload.name!r}, {name}={value:g}: must be a whole number, "
                f"{least} or more"
            )
        changed[name] = int(value)
    return attrs.evolve(job, **changed) if changed else job


def fixed_values(workload: Workload, settings: Mapping[str, str]) -> tuple[Job, dict[str, Any]]:
    """Return the job with what is set, and what is set by name.

    Raises
    ------
    UnknownNameError
        If a job has no such key.
    FileError
        If a value is not of its kind.
    """
    job: Job = workload.content
    names = list(_FIELDS)
    values: dict[str, Any] = {}
    for name, text in settings.items():
        if name not in names:
            hint = did_you_mean(name, names) or f" Known: {', '.join(names)}."
            raise UnknownNameError(f"a training job has no {name!r}.{hint}")
        spelt: Any = {"true": True, "false": False}.get(text, text)
        values[name] = int(text) if text.removeprefix("-").isdecimal() else spelt
    stated = {name: value for name, value in attrs.asdict(job).items() if value is not None}
    changed = structure({**stated, **values}, Job, "--set", "")
    return changed, values
