"""Writes the reference from what is installed: hooks, commands, solvers, workloads, machines.

Sphinx calls `write` before it reads any page (see ``conf.py``); ``tests/test_reference.py`` holds
that nothing is missing.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from parcast import Machine, Registry, Workload
from parcast.cli.keys import keys
from parcast.html import flatten
from parcast.plugins.entries import load
from parcast.plugins.hookspecs import Specs


def write(folder: Path) -> None:
    """Write ``commands.md`` and ``reference.md`` into a folder."""
    registry = Registry()
    for name, lines in (("commands", commands(registry)), ("reference", reference(registry))):
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def commands(registry: Registry) -> Iterator[str]:
    """Yield the page of all commands."""
    import typer

    from parcast.cli import build

    yield from ("# Commands", "", "What each says with `--help`.", "")
    command = typer.main.get_command(build(registry))
    for path, shown in _helps(command, command.make_context("parcast", ["list"])):
        yield from (f"## {path}", "", "```text", shown, "```", "")


def _helps(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield the words of every command and its help, those with commands below them first."""
    yield context.command_path, command.get_help(context).strip()
    for name, below in sorted(getattr(command, "commands", {}).items()):
        yield from _helps(below, type(context)(below, parent=context, info_name=name))


def reference(registry: Registry) -> Iterator[str]:
    """Yield the page of everything that plugins register."""
    yield from ("# Reference", "", "Written from what is installed.", "")
    yield from _hooks()
    yield from _solvers(registry)
    yield from ("## Kinds of workloads", "")
    yield from _classes(registry.kinds.values())
    yield from ("## Workloads", "")
    yield from _resources(registry.workload(name) for name in sorted(registry.workloads))
    yield from ("## Parts of machines", "")
    yield from _classes(registry.parts.values())
    yield from ("## Machines", "")
    yield from _resources(registry.machine(name) for name in sorted(registry.machines))
    yield from _lowerings(registry)
    for title, entries in (("Readers", registry.readers), ("Writers", registry.writers)):
        yield from (f"## {title}", "")
        rows = [(f"`{name}`", entry.summary) for name, entry in sorted(entries.items())]
        yield from _table(("suffix", "is"), rows)
    yield from ("## Plugins", "")
    yield from _table(("plugin", "distribution"), [(i.name, i.package) for i in registry.plugins])


def _hooks() -> Iterator[str]:
    yield from ("## Hooks", "", "What a plugin may add; [each in use](plugins.md).", "")
    for name, spec in vars(Specs).items():
        if not name.startswith("parcast_"):
            continue
        signature = inspect.signature(spec)
        taken = ", ".join(
            f"{parameter.name}: {parameter.annotation}"
            for parameter in signature.parameters.values()
            if parameter.name != "self"
        )
        words, _, example = inspect.cleandoc(spec.__doc__ or "").partition("::\n")
        yield from (f"### {name}({taken}) -> {signature.return_annotation}", "", words.strip(), "")
        if example:
            yield from ("```python", textwrap.dedent(example).strip(), "```", "")


def _solvers(registry: Registry) -> Iterator[str]:
    yield from ("## Solvers", "", "A family's name stands for the solver that it picks.", "")
    everything = {**registry.families, **registry.solvers}
    for name, entry in sorted(everything.items()):
        kind = f"Takes `{entry.kind}`." if entry.kind else "Takes any kind."
        named = " Asked only when named." if getattr(entry, "on_request", False) else ""
        yield from (f"### {name}", "", f"{entry.summary} {kind}{named}", "")
        if getattr(entry, "options", None):
            yield from _key_table("option", load(entry.options), f"{name}.")


def _classes(entries: Iterable[Any]) -> Iterator[str]:
    """Yield a table of keys for each kind or part."""
    for entry in sorted(entries, key=lambda entry: entry.name):
        files = f" In {entry.suffix} files." if getattr(entry, "suffix", None) else ""
        yield from (f"### {entry.name}", "", f"{entry.summary}{files}", "")
        content = load(entry.target)
        if files or not attrs.has(content):
            continue
        yield from _key_table("key", content, "")


def _key_table(word: str, table: type, prefix: str) -> Iterator[str]:
    rows = [
        (f"`{prefix}{key.name}`", key.takes, key.default or "optional", key.meaning)
        for key in keys(table)
    ]
    if rows:
        yield from _table((word, "takes", "default", "meaning"), rows)


def _resources(values: Iterable[Machine | Workload]) -> Iterator[str]:
    """Yield every number of a shipped machine or workload beside its source."""
    for value in values:
        kind = f" ({value.kind})" if isinstance(value, Workload) else ""
        yield from (f"### {value.name}{kind}", "", value.summary, "")
        if value.source:
            yield from (f"From {value.source}", "")
        skipped = {"name", "summary", "source", "sources", "kind", "program"}
        shown = {key: item for key, item in value.data.items() if key not in skipped}
        rows = [
            (f"`{key}`", f"`{item}`", _source(value.sources, key)) for key, item in flatten(shown)
        ]
        if rows and "\n" not in "".join(row[1] for row in rows):
            yield from _table(("key", "value", "source"), rows)


def _source(sources: Mapping[str, str], path: str) -> str:
    while path not in sources and path:
        path = path.rpartition(".")[0]
    return sources.get(path, "")


def _lowerings(registry: Registry) -> Iterator[str]:
    yield from ("## Lowerings", "", "How a workload of one kind becomes one of another.", "")
    rows = [
        (name, "yes" if entry.exact else "no", "yes" if entry.on_request else "no", entry.summary)
        for name, entry in sorted(registry.lowerings.items())
    ]
    yield from _table(("from -> to", "exact", "only to solvers that are named", "how"), rows)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    header = list(header)
    yield "| " + " | ".join(header) + " |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""
