"""``parcast emulator``: what only this family can do."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from parcast_emulator.coupling import Coupling
    from parcast_emulator.simulation import Outcome
    from parcast_emulator.spec import Spec

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Application emulators.")


class CallName(StrEnum):
    """Calls that may block."""

    reads = "reads"
    sends = "sends"
    computation = "computation"


class EngineName(StrEnum):
    """The engines that a user may name."""

    auto = "auto"
    feed_forward = "feed-forward"
    merge = "merge"
    tc = "tc"


@app.callback()
def _group() -> None:
    """Emulators of data-intensive applications, and their simulator."""


@app.command()
def simulate(
    file: Annotated[Path, typer.Argument(help="A machine, its nodes and epochs, in JSON.")],
    *,
    engine: Annotated[
        EngineName, typer.Option(help="auto takes feed-forward where that applies.")
    ] = EngineName.auto,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run both engines and compare every bit.")
    ] = False,
    polling: Annotated[
        str, typer.Option(help="What a check for completion costs a process, such as 20us (tc).")
    ] = "0",
    blocking: Annotated[
        list[CallName] | None, typer.Option(help="Calls that a process waits for (tc).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every operation's times.")] = False,
) -> None:
    """Simulate explicit block lists: when every read, message and computation happens."""
    from parcast_emulator.answers import times
    from parcast_emulator.spec import read_spec

    coupling = _coupling(engine, polling, blocking or [])
    spec = read_spec(file)
    outcome = _outcome(spec, engine.value, coupling, verify=verify, record=as_json)
    if as_json:
        typer.echo(json.dumps(times(spec.cluster, outcome), allow_nan=False))
    else:
        typer.echo("\n".join(_report(spec, outcome, verified=verify)))


@app.command()
def workflow(
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="An emulated application: a name or a file.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the SVG goes.")],
) -> None:
    """Draw what happens to one block of an application, and what waits for what."""
    from parcast.errors import FileError
    from parcast_emulator.workflow import draw

    found = context.obj.workload(workload)
    if found.kind != "emulator":
        raise FileError(
            f"{workload} is a workload of kind {found.kind!r}; only those of kind 'emulator' have "
            "a work-flow graph"
        )
    if output.suffix.lower() != ".svg":
        raise FileError(f"{output}: the graph is drawn as SVG; end the name in .svg")
    try:
        output.write_text(draw(found.content.emulator.workflow))
    except OSError as error:
        raise FileError(f"{output} cannot be written: {error.strerror}") from None


def _coupling(engine: EngineName, polling: str, blocking: list[CallName]) -> Coupling | None:
    """Return how processes call, where the engine has processes."""
    from parcast.errors import UnsupportedError
    from parcast.files import structure
    from parcast_emulator.coupling import Coupling

    given = dict.fromkeys((call.value for call in blocking), "blocking")
    made = structure({"polling": polling, **given}, Coupling, "option", "")
    if engine is EngineName.tc:
        return made
    if made != Coupling():
        raise UnsupportedError(
            f"--polling and --blocking are about processes, which the engine {engine.value} has "
            "not; add --engine tc"
        )
    return None


def _outcome(
    spec: Spec, engine: Any, coupling: Coupling | None, *, verify: bool, record: bool
) -> Outcome:
    from parcast.errors import UnsupportedError
    from parcast_emulator import simulation

    if not verify:
        return simulation.simulate(
            spec.cluster,
            spec.epochs,
            engine=engine,
            coupling=coupling,
            own_epochs=spec.own_epochs,
            record=record,
        )
    if spec.own_epochs:
        raise UnsupportedError("--verify: epochs of each node's own run on the merge engine only")
    return simulation.verify(spec.cluster, lambda: spec.epochs)


def _report(spec: Spec, outcome: Outcome, *, verified: bool) -> list[str]:
    """Return the lines for a reader: the time, what was busy, and by which engine."""
    from parcast_emulator.answers import binding, resources

    lines = [f"time      {outcome.time:.6g} s, not below {outcome.lower:.6g} s"]
    if len(outcome.epoch_ends) > 1:
        lines.append(f"epochs    {', '.join(f'{end:.6g}' for end in outcome.epoch_ends)} s")
    found = resources(spec.cluster, outcome)
    lines += ["", f"{'':10}{'busy':>8}{'hottest':>9}{'hot/mean':>10}{'queueing [s]':>14}"]
    lines += [
        f"{word:10}{used['utilization']:8.1%}{used['hottest']:9.1%}"
        f"{used['hot_to_mean']:10.2f}{used['queueing']:14.6g}"
        for word, used in found.items()
    ]
    why = f" ({outcome.reason})" if outcome.reason else ""
    same = "; the merge engine gives the same bits" if verified else ""
    lines += ["", f"binding   {binding(spec.cluster, outcome)}"]
    return [*lines, f"engine    {outcome.engine}{why}{same}"]
