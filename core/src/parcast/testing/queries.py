"""What solvers are asked by default, and the same on faster and poorer machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, get_args

import attrs

from parcast.api import Registry
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.quantities.formulas import Unit

#: A machine whose speeds are about 1 in base units.
UNIT_MACHINE: Mapping[str, Any] = {
    "name": "unit",
    "processor": {"rate": 1},
    "network": {"startup": 1, "bandwidth": 1, "overhead": 0.5, "contention": "none"},
    "storage": {"startup": 1, "bandwidth": 1, "disks": 2},
}
#: The phases of the standard workloads, by name; each phase also has ``parallel = 64``.
STANDARD_PHASES: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "work": ({"serial": 2},),
    "messages": ({"cycles": 3, "messages": "2*log2(p)", "bytes": 8, "scale": "surface:2"},),
    "files": ({"bursts": 2, "messages": 2, "bytes": 8, "group": "p", "io_bytes": 16},),
    "overlapped": ({"cycles": 2, "messages": 2, "bytes": 8, "io": "async", "io_bytes": 16},),
    "constant": ({"messages": 1, "distribution": "constant"}, {"distribution": "constant"}),
}


def standard_queries(registry: Registry, kind: str) -> list[Query]:
    """Return queries about workloads of a kind on `UNIT_MACHINE`, p in 1, 2, 4 and d in 1, 2.

    The workloads are `STANDARD_PHASES`, or the registry's own of any other kind, which then run
    on the registry's own machines as well; the storage of `UNIT_MACHINE` has either layout.
    """
    standard = [
        {"name": name, "phase": [{"parallel": 64, **phase} for phase in phases]}
        for name, phases in STANDARD_PHASES.items()
    ]
    sources = standard if kind == "phases" else list(registry.workloads)
    workloads = [registry.workload(source) for source in sources]
    layouts = [{**UNIT_MACHINE["storage"], "layout": layout} for layout in ("bus", "cluster")]
    machines = [registry.machine({**UNIT_MACHINE, "storage": storage}) for storage in layouts]
    if kind != "phases":
        machines += [registry.machine(name) for name in registry.machines]
    return [
        Query(workload=workload, machine=machine, p=p, d=d)
        for workload, machine, p, d in product(workloads, machines, (1, 2, 4), (1, 2))
        if workload.kind == kind
    ]


def faster(value: Any) -> Any:
    """Return a machine, or a part of one, with rates doubled and times halved by their units."""
    if isinstance(value, Machine):
        return attrs.evolve(value, parts={k: faster(part) for k, part in value.parts.items()})
    if isinstance(value, tuple):
        return tuple(faster(item) for item in value)
    if not attrs.has(type(value)):
        return value
    changes = {}
    for field in attrs.fields(attrs.resolve_types(type(value))):
        stated = getattr(value, field.name)
        over, _, under = _dimension(field.type).partition("/")
        if isinstance(stated, int | float):
            doublings = (under == "s") - (over == "s")
            changes[field.name] = stated * 2.0**doublings if doublings else stated
        else:
            changes[field.name] = faster(stated)
    return attrs.evolve(value, **changes)


def _dimension(kind: Any) -> str:
    if isinstance(kind, Unit):
        return kind.dimension
    return next(filter(None, map(_dimension, get_args(kind))), "")


def lacking(machine: Machine) -> Iterator[Machine]:
    """Return machines that lack one part, or one number that a part need not state."""
    for name, part in machine.parts.items():
        others = {key: value for key, value in machine.parts.items() if key != name}
        yield attrs.evolve(machine, parts=others)
        for field in attrs.fields(type(part)):
            if field.default is None and getattr(part, field.name) is not None:
                without = attrs.evolve(part, **{field.name: None})
                yield attrs.evolve(machine, parts={**others, name: without})
