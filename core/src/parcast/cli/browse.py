"""``parcast show``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import attrs
import typer

from parcast.api import Registry
from parcast.cli.options import AssumeAlike, Json, Setting, complete_any_name
from parcast.cli.output import (
    output_option,
    print_json,
    print_table,
    print_text,
    terminal_width,
)
from parcast.comparison.settings import Settings, split_assignment
from parcast.errors import ParcastError, UnknownNameError, did_you_mean
from parcast.files import assuming_alike
from parcast.html import flatten
from parcast.model.machine import Machine
from parcast.model.query import Query
from parcast.model.workload import Workload
from parcast.plugins.entries import FamilyEntry, KindEntry, PartEntry, SolverEntry, load


def show(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            help="A workload, machine, solver, part or kind, or a file.",
            autocompletion=complete_any_name,
        ),
    ],
    p: Annotated[
        int | None, typer.Option("-p", help="Show what a program does with so many processes.")
    ] = None,
    setting: Setting = None,
    assume_alike: AssumeAlike = False,
    json: Json = False,
    output: Annotated[
        Path | None, output_option("Draw a machine's network: .svg, .png, .pdf or .dot.")
    ] = None,
) -> None:
    """Show what a workload, machine, solver, part or kind is: numbers, sources, keys."""
    registry: Registry = context.obj
    if assume_alike:
        context.with_resource(assuming_alike())
    entry = registry.solvers.get(name) or registry.families.get(name)
    tables = [_table(entry) for entry in _table_entries(registry, name)]
    if entry is not None or (tables and name not in {*registry.machines, *registry.workloads}):
        if p is not None or setting:
            what = "solver" if entry else tables[0]["is"]
            raise ParcastError(f"{name} is a {what}; -p and --set show what a program does")
        if output is not None:
            raise ParcastError(f"{name} is no machine; -o draws the network of one")
        _show_entry(name, entry, tables, json=json)
        return
    value = _found(registry, name)
    query = _program_query(registry, value, p, setting)
    pictures = _pictures(registry, value, output)
    unrolled: dict[str, Any] = {}
    if query is not None:
        from parcast.cli.programs import described, print_program

        unrolled = {"unrolled": described(query)} if json else {}
    if json:
        print_json({**_described(value), **unrolled})
    else:
        _print(value)
        _print_parts(registry, value)
    for draw in pictures:
        draw(value, output)
    if query is not None and not json:
        print()
        print_program(query)
    if query is not None:
        query.workload.content.check(query)  # what is wrong with it comes after what it does


def _show_entry(
    name: str, entry: SolverEntry | FamilyEntry | None, tables: list[dict[str, Any]], *, json: bool
) -> None:
    """Show a solver, and the part and the kind of the same name."""
    if json:
        facts = {**attrs.asdict(entry), "options": _options(entry)} if entry else {"name": name}
        print_json({**facts, "tables": tables} if tables else facts)
        return
    if entry is not None:
        print_text(f"{name} (solver of {entry.kind or 'any'} workloads): {entry.summary}")
        for option, words, meaning in _option_texts(entry):
            print_text(f"--set {option}=... {words}")
            if meaning:
                width = terminal_width() or 96
                print(fill(meaning, width, initial_indent="    ", subsequent_indent="    "))
    for index, table in enumerate(tables):
        if index or entry:
            print()
        _print_table_of(name, table)


def _table_entries(registry: Registry, name: str) -> Iterator[PartEntry | KindEntry]:
    """Yield the part and the kind of a name."""
    entries = (registry.parts.get(name), registry.kinds.get(name))
    return (entry for entry in entries if entry is not None)


def _table(entry: PartEntry | KindEntry) -> dict[str, Any]:
    """Return what a part or a kind is, with its keys."""
    from parcast.cli.keys import keys

    target, suffix = load(entry.target), getattr(entry, "suffix", None)
    stated = [] if suffix or not attrs.has(target) else list(keys(target))
    return {
        "is": "part" if isinstance(entry, PartEntry) else "kind",
        "summary": entry.summary,
        "description": (inspect.getdoc(target) or "").replace("``", ""),
        "suffix": suffix,
        "keys": [{**attrs.asdict(key), "required": key.required} for key in stated],
    }


def _print_table_of(name: str, table: Mapping[str, Any]) -> None:
    of = "machines" if table["is"] == "part" else "workloads"
    print_text(f"{name} ({table['is']} of {of}): {table['summary']}")
    if table["suffix"]:
        print_text(f"It is in {table['suffix']} files.")
        return
    if table["description"] != table["summary"]:
        print(f"\n{table['description']}")
    print()
    rows = [
        [key["name"], key["takes"], key["default"] or "optional", key["meaning"].replace("``", "")]
        for key in table["keys"]
    ]
    print_table(("key", "takes", "default", "meaning"), rows)


def _program_query(
    registry: Registry, value: Workload | Machine, p: int | None, setting: list[str] | None
) -> Query | None:
    """Return the query whose operations are to be shown, if any."""
    if p is None and not setting:
        return None
    if not isinstance(value, Workload) or value.kind != "program":
        raise ParcastError(f"{value.name} is no program; -p and --set show what a program does")
    if p is None or p < 1:
        option = "-p" if p is None else f"-p {p}"
        raise ParcastError(f"{option}: give how many processes, 1 or more, such as -p 4")
    settings = Settings.sort(dict(map(split_assignment, setting or [])), registry, [value])
    for name in (*settings.machine, *settings.options):
        raise ParcastError(f"--set {name}: a program's operations depend on its parameters alone")
    parameters = settings.parameters_at(value, p, 1)
    return Query(workload=value, machine=Machine(name=""), p=p, parameters=parameters)


def _options(entry: SolverEntry | FamilyEntry) -> dict[str, str]:
    """Return what each option of a solver takes, its default, and what it means."""
    return {
        name: f"{words}: {meaning}" if meaning else words
        for name, words, meaning in _option_texts(entry)
    }


def _option_texts(entry: SolverEntry | FamilyEntry) -> Iterator[tuple[str, str, str]]:
    """Yield each option of a solver with what it takes, its default, and what it means."""
    from parcast.cli.keys import keys

    if isinstance(entry, SolverEntry) and entry.options is not None:
        for key in keys(load(entry.options)):
            default = f"default {key.default}" if key.default else "optional"
            meaning = key.meaning.replace("``", "")
            yield f"{entry.name}.{key.name}", f"{key.takes} ({default})", meaning


def _found(registry: Registry, name: str) -> Workload | Machine:
    if name in registry.machines:
        return registry.machine(name)
    if name in registry.workloads:
        return registry.workload(name)
    if re.search(r"[./\\]", name) or os.path.exists(name):  # noqa: PTH110  (never raises)
        return registry.read(name)
    candidates = {
        *registry.workloads, *registry.machines, *registry.solvers, *registry.families,
        *registry.parts, *registry.kinds,
    }  # fmt: skip
    hint = did_you_mean(name, candidates) or f" Known: {', '.join(sorted(candidates))}."
    raise UnknownNameError(f"Nothing is called {name!r}.{hint}")


def _described(value: Workload | Machine) -> dict[str, Any]:
    kind = value.kind if isinstance(value, Workload) else None
    return {
        "name": value.name,
        "kind": kind or "machine",
        "summary": value.summary,
        "source": value.source,
        "data": dict(value.data),
    }


def _print(value: Workload | Machine) -> None:
    described = _described(value)
    year = f", {value.year}" if isinstance(value, Machine) and value.year else ""
    print_text(f"{value.name} ({described['kind']}{year}): {value.summary}")
    if value.source:
        print_text(f"source: {value.source}")
    print()
    if isinstance(value, Workload) and value.kind == "program" and value.content.tree:
        paragraphs = value.content.tree.description.split("\n\n")[1:]
        for paragraph in paragraphs:
            print_text(" ".join(paragraph.split()))
            print()
    skipped = {"name", "summary", "source", "sources", "kind", "program", "year", "group"}
    leaves = flatten({key: item for key, item in value.data.items() if key not in skipped})
    rows = [[path, str(item), _source(value.sources, path)] for path, item in leaves]
    print_table(("key", "value", "source"), rows)


def _parts(registry: Registry, value: Workload | Machine) -> Iterator[PartEntry]:
    """Yield what is registered of the parts of a machine."""
    for name in value.parts if isinstance(value, Machine) else ():
        if name in registry.parts:
            yield registry.parts[name]


def _print_parts(registry: Registry, value: Workload | Machine) -> None:
    """Print what the parts of a machine amount to, those that say so."""
    for part in _parts(registry, value):
        if part.shows is not None:
            print()
            try:
                load(part.shows)(value)
            except ParcastError as error:  # the machine is shown, whatever a part lacks
                print_text(f"{part.name}: {error}")


def _pictures(
    registry: Registry, value: Workload | Machine, output: Path | None
) -> list[Callable[[Workload | Machine, Path | None], None]]:
    """Return what draws the parts of a machine to a file, if one is asked for."""
    targets = [part.draws for part in _parts(registry, value) if part.draws is not None]
    if output is not None and not targets:
        lacks = "states no topology" if isinstance(value, Machine) else "is no machine"
        raise ParcastError(f"{value.name} {lacks}; -o draws what connects the nodes of a machine")
    return [] if output is None else [load(target) for target in targets]


def _source(sources: Mapping[str, str], path: str) -> str:
    """Return the source of a key, or of the nearest table around it that has one."""
    while path not in sources and path:
        path = path.rpartition("[" if path.endswith("]") else ".")[0]
    return sources.get(path, "")
