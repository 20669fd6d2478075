"""Provenance: what a result was made from, so that it can be made again."""

from __future__ import annotations

import hashlib
import json
import platform
import socket
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import attrs

from parcast.model.machine import Machine
from parcast.model.workload import Workload

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

_version = cache(metadata.version)  # a millisecond each time


def provenance(
    registry: Catalog,
    workloads: Sequence[Workload],
    machines: Sequence[Machine],
    settings: Mapping[str, Any],
    seed: int | Sequence[int],
) -> dict[str, Any]:
    """Return versions and whole inputs; what differs from run to run stands under ``run``."""
    return {
        "parcast": _version("parcast"),
        "plugins": {info.distribution: info.version for info in registry.plugins},
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "platform": platform.platform(),
        "workloads": [_input(workload) for workload in workloads],
        "machines": [_input(machine) for machine in machines],
        "settings": dict(settings),
        "seed": seed,
        "run": {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "host": socket.gethostname(),
            "command": sys.argv,
        },
    }


def _input(value: Workload | Machine) -> dict[str, Any]:
    stated = value.data or attrs.asdict(value)
    data = json.dumps(stated, sort_keys=True, default=str)
    return {
        "name": value.name,
        "sha256": hashlib.sha256(data.encode()).hexdigest(),
        "data": json.loads(data),
    }
