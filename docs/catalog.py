"""Writes ``machines.md``, the list of machines that are shipped, from their files.

Run ``python docs/catalog.py`` after a change; ``tests/test_catalog.py`` holds that it was done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from parcast import Machine, Registry

PAGE = Path(__file__).parent / "machines.md"

_HEAD = """\
# Machines

```
$ parcast list machines
$ parcast show a100-hdr
$ parcast compare stencil2d milan-hdr -p 256 --set nodes.memory_bandwidth="300 GB/s"
```

`parcast show` prints every number of a machine with its source: `published` by a vendor or a
site, `measured`, `fitted` to measurements, or `assumed`. The last columns count the sources of each
kind: a machine whose numbers are mostly assumed says what such machines are like, not what one of
them does. Rates of processors are what dense linear algebra reaches, and bandwidths of memory what
STREAM does, where there is a source, and else a share of the peak that is assumed; peaks of
accelerators stand beside the shares of them that work reaches. Start from the nearest machine, and
put in what you measured: [one's own machine](how-to/machine.md). `parcast show NAME --json` prints
its data.

Nodes with accelerators have as many cores here as accelerators: one process drives each, and has
its part of the processors. Their messages are between memories of accelerators.

This page is written by `docs/catalog.py`.
"""

_TITLES = {
    "today": "Machines of today",
    "storage": "Storage",
    "papers": "Machines of the papers, and of examples",
}
_ORIGINS = ("published", "measured", "fitted", "assumed")


def page(registry: Registry) -> str:
    """Return the page."""
    machines = [registry.machine(name) for name in sorted(registry.machines)]
    lines = [_HEAD]
    for group, title in _TITLES.items():
        lines += [f"## {title}", "", *_table(m for m in machines if m.group == group), ""]
    return "\n".join(lines)


def _table(machines: Iterator[Machine]) -> Iterator[str]:
    yield f"| machine | year | what | a node | {' | '.join(_ORIGINS)} |"
    yield "|---|---|---|---|" + "---|" * len(_ORIGINS)
    for machine in machines:
        counts = Counter(text.partition(":")[0] for text in machine.sources.values())
        cells = [
            *(f"`{machine.name}`", str(machine.year or ""), machine.summary, _node(machine)),
            *(str(counts[origin] or "") for origin in _ORIGINS),
        ]
        yield f"| {' | '.join(cells)} |"


def _node(machine: Machine) -> str:
    """Return what a node is, as the file states it."""
    data, parts = machine.data, list[str]()
    accelerator = machine.accelerator
    if accelerator is not None:
        parts.append(f"{accelerator.per_node} x {accelerator.name}")
    elif machine.nodes.cores > 1:
        parts.append(f"{machine.nodes.cores} cores")
    if memory := _stated(data, "nodes", "memory_bandwidth"):
        parts.append(f"memory {memory}")
    if network := _stated(data, "network", "port_bandwidth") or _stated(
        data, "network", "bandwidth"
    ):
        ports = machine.network.ports
        parts.append(f"network {f'{ports} x ' if ports > 1 else ''}{network}")
    if topology := _stated(data, "topology", "kind"):
        parts.append(topology)
    return ", ".join(parts)


def _stated(data: Mapping[str, Mapping[str, object]], part: str, key: str) -> str:
    value = data.get(part, {}).get(key)
    return "" if value is None else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(Registry()), encoding="utf-8")
