"""A machine's file from all that was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from parcast.files import table_text
from parcast.model import Machine
from parcast_machines_from.estimating.accelerator import accelerator_numbers
from parcast_machines_from.estimating.agreement import MEASURED, against_host, disagreements
from parcast_machines_from.estimating.network import network_part
from parcast_machines_from.estimating.node import node_numbers
from parcast_machines_from.estimating.numbers import Stated
from parcast_machines_from.records import Fact, Reading


@attrs.frozen
class Estimate:
    """A machine's numbers, what is left out, and what to say of them."""

    name: str
    numbers: tuple[Stated, ...]
    open: tuple[str, ...]
    notes: tuple[str, ...]
    others: Machine | None = None  #: whose numbers hold where outputs say nothing
    unlike: tuple[str, ...] = ()  #: of these, the ones that do not fit what outputs say

    @property
    def taken(self) -> tuple[str, ...]:
        """The numbers that are the other machine's."""
        own = {number.key for number in self.numbers}
        parts = {part: table for part, table in self.data.items() if isinstance(table, Mapping)}
        parts.pop("sources")
        keys = (f"{part}.{key}" for part, table in parts.items() for key in table)
        return tuple(key for key in keys if key not in own)

    @property
    def data(self) -> dict[str, Any]:
        """The machine as a file has it."""
        data: dict[str, Any] = {"name": self.name, "source": "outputs of benchmarks"}
        sources: dict[str, str] = {}
        if self.others is not None:
            keys = [*(number.key for number in self.numbers), *self.unlike]
            data, sources = _without(self.others, keys)
            sources = _borrowed(data, sources, self.others.name)
            data |= {"name": self.name, "source": f"outputs, else as {self.others.name}"}
        for number in self.numbers:
            part, _, key = number.key.partition(".")
            data.setdefault(part, {})[key] = number.value
            sources[number.key] = number.source
        order = ("processor", "nodes", "network", "storage", "accelerator")
        parts = {part: data.pop(part) for part in order if part in data}
        return {**data, **parts, "sources": sources}

    @property
    def text(self) -> str:
        """The machine's file in TOML, every number with its source; what is open stands below."""
        lines = [f"# not determined: {item}" for item in self.open]
        return "\n".join([table_text(self.data).rstrip("\n"), *lines, ""])


def _without(machine: Machine, keys: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a machine's data and sources without what stands under some keys.

    Shares of products by size count whole tiles, so that its multiprocessors do not count again.
    """
    if "accelerator.efficiency" in keys:
        keys = (*keys, "accelerator.units")
    data = {
        part: dict(value) if isinstance(value, Mapping) else value
        for part, value in machine.data.items()
        if part not in {"summary", "group", "year"}
    }
    sources = dict(data.pop("sources", {}))
    for key in keys:
        part, _, name = key.partition(".")
        data.get(part, {}).pop(name, None)
        for number in list(sources):
            if number == key or number.startswith((f"{key}.", f"{key}[")):
                del sources[number]
    return data, sources


def _borrowed(data: Mapping[str, Any], sources: Mapping[str, str], name: str) -> dict[str, str]:
    """Return sources that say of each number that it is another machine's."""
    keys = [
        f"{part}.{key}"
        for part, table in data.items()
        if isinstance(table, Mapping)
        for key in table
    ]
    stated = {key: sources.get(key) or sources.get(key.partition(".")[0]) for key in keys}
    stated |= {key: text for key, text in sources.items() if "." in key}
    whose = f"assumed: {name}'s, not measured"
    return {key: f"{whose}; {text}" if text else whose for key, text in stated.items()}


def estimate(
    reading: Reading, name: str, levels: Mapping[str, int], others: Machine | None = None
) -> Estimate:
    """Return the machine that outputs describe.

    Parameters
    ----------
    reading
        All that was read.
    name
        What the machine is called.
    levels
        Processes of each level, as people say them.
    others
        A machine whose numbers hold where outputs say nothing.
    """
    facts = {fact.key: fact for fact in reversed(reading.facts)}
    sizes = {
        key.removeprefix("levels."): int(fact.value)
        for key, fact in facts.items()
        if key.startswith("levels.")
    }
    if "nodes.cores" in facts:
        sizes.setdefault("node", int(facts["nodes.cores"].value))
    sizes.update(levels)
    node, missing = node_numbers(reading, sizes)
    elsewhere = facts.keys() & {"nodes.count", f"{MEASURED}network.startup"}
    network = network_part(reading.series, sizes, alone=others is None and not elsewhere)
    accelerator, lacking = accelerator_numbers(reading, others.accelerator if others else None)
    numbers = (*node, *network.numbers, *accelerator)
    notes = (
        *reading.notes, *disagreements(reading), *network.notes, *against_host(numbers, reading),
        *_overruled(facts, levels),
    )  # fmt: skip
    unlike = dict(_unlike(others, sizes, numbers))
    host = tuple(_measured(reading, {number.key for number in numbers}))
    keys = {number.key for number in host}
    left = [item for item in (*missing, *network.open) if _keys(item).isdisjoint(keys)]
    missing = () if others is not None else (*left,)
    return Estimate(
        name, (*numbers, *host), (*missing, *lacking),
        (*notes, *unlike.values()), others, tuple(unlike),
    )  # fmt: skip


def _unlike(
    others: Machine | None, sizes: Mapping[str, int], numbers: Sequence[Stated]
) -> Iterator[tuple[str, str]]:
    """Yield keys of the other machine that do not fit nodes of this size, and why."""
    own = {number.key for number in numbers}
    if others is None or not others.network.levels or "network.levels" in own:
        return
    cores = sizes.get("node", others.nodes.cores)
    if cores != others.nodes.cores:
        reason = f"its nodes have {others.nodes.cores} cores, and these {cores}"
        yield "network.levels", f"network.levels of {others.name} is left out: {reason}"


def _measured(reading: Reading, determined: set[str]) -> Iterator[Stated]:
    """Yield numbers that the host's own measurement has and no other output.

    What messages cost belongs together: it is of one source.
    """
    messages = "network.startup" in determined
    for fact in reading.facts:
        key = fact.key.removeprefix(MEASURED)
        if key == fact.key or key in determined or (messages and key.startswith("network.")):
            continue
        determined.add(key)
        yield Stated(key, fact.value, f"measured: {fact.where}, parcast mpi measure")


def _overruled(facts: Mapping[str, Fact], levels: Mapping[str, int]) -> Iterator[str]:
    """Yield where people state another size of a level than an output."""
    for name, size in levels.items():
        fact = facts.get("nodes.cores" if name == "node" else f"levels.{name}")
        if fact is not None and fact.value != size:
            yield f"--level {name}={size} is taken; {fact.where} says {fact.value}"


def _keys(item: str) -> set[str]:
    """Return the keys that are left out: ``network.startup and bandwidth: ...``."""
    names = item.partition(":")[0].split(" and ")
    part = names[0].partition(".")[0]
    return {name if "." in name else f"{part}.{name}" for name in names}


def systems(reading: Reading) -> Sequence[str]:
    """Return the systems that tables among the outputs name."""
    return tuple(dict.fromkeys(item.system for item in reading.series if item.system))
