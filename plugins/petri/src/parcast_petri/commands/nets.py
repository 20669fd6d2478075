"""``parcast petri net``, ``animate`` and ``prove``: nets to be looked at."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parcast.cli import output_option

if TYPE_CHECKING:
    from parcast_petri.commands.arguments import Subject

What = Annotated[str, typer.Argument(help="A program, or a file with a net (.json, .pnml).")]
MachineName = Annotated[str | None, typer.Option("--machine", help="For the program's times.")]
Processes = Annotated[int, typer.Option("-p", min=1, help="Processes of the program.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="NAME=VALUE: a parameter, or petri.sharing.")
]


def _subject(
    context: typer.Context,
    what: str,
    machine: str | None,
    p: int,
    settings: list[str] | None,
    *,
    folded: bool = False,
) -> Subject:
    from parcast_petri.commands.arguments import subject

    net_subject = subject(context.obj, what, machine, p, settings or [], folded=folded)
    for note in net_subject.notes:
        typer.echo(f"parcast: note: {note}", err=True)
    return net_subject


def net(
    context: typer.Context,
    what: What,
    *,
    output: Annotated[
        Path,
        output_option("Where it goes: .svg, .png, .pdf, .dot, .pnml or .json."),
    ],
    folded: Annotated[
        bool,
        typer.Option("--folded", help="As the paper draws it: loops kept, by places that count."),
    ] = False,
    machine: MachineName = None,
    p: Processes = 4,
    settings: Settings = None,
) -> None:
    """Write the net of a program or a file as a picture, or in another format."""
    from parcast.files import GRAPHS, check_file, write_bytes, write_graph, write_text
    from parcast_petri.nets import drawing
    from parcast_petri.nets.net_files import net_data
    from parcast_petri.nets.pnml.writing import write_pnml

    suffix = output.suffix.lower()
    check_file(output, "a net", (*GRAPHS, ".pnml", ".json"))
    subject = _subject(context, what, machine, p, settings, folded=folded)
    if suffix in GRAPHS:
        draw = drawing.dot if suffix == ".dot" else drawing.picture
        write_graph(draw(subject.net), output)
        return
    if suffix == ".json":
        write_text(output, json.dumps(net_data(subject.net), indent=1) + "\n")
    elif subject.source is not None:  # byte by byte, as ids, graphics and tools' blocks are
        write_bytes(output, subject.source.read_bytes())
    else:
        write_pnml(subject.net, output)


def animate(
    context: typer.Context,
    what: What,
    *,
    output: Annotated[
        Path | None,
        output_option("An HTML page; else the terminal."),
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="How many firings at the most.")] = 200,
    wait: Annotated[
        bool, typer.Option("--wait", help="Go on at the Enter key, line by line.")
    ] = False,
    machine: MachineName = None,
    p: Processes = 4,
    settings: Settings = None,
) -> None:
    """Play a net step by step: in the terminal, or on an HTML page."""
    from parcast.files import check_file, write_text
    from parcast_petri.nets import animation

    if output is not None:
        check_file(output, "an animation", (".html", ".htm"))
    subject = _subject(context, what, machine, p, settings)
    if output is None:
        for line in animation.lines(subject.arrays, steps):
            typer.echo(line)
            if wait:
                input()
        return
    write_text(output, animation.page(subject.arrays, steps))


def prove(
    context: typer.Context,
    what: What,
    *,
    machine: MachineName = None,
    p: Processes = 4,
    settings: Settings = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prove what holds at any times: invariants, bounds, no deadlock, what never fires."""
    from parcast_petri.nets import invariants as proof
    from parcast_petri.programs.lowering import joined_ends

    net = _subject(context, what, machine, p, settings).net
    result = proof.prove(net, joined_ends(net))
    typer.echo(json.dumps(result.as_json()) if as_json else result.report())


def add(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (net, animate, prove):
        app.command()(command)
