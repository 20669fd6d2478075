"""What every petri solver finds out about a query first."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from parcast import Assumption
from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Query
from parcast.program.matching import matched_program
from parcast_petri.compilation import GAME
from parcast_petri.machine.load import Load, loads_of
from parcast_petri.nets.arrays import Arrays, kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.local_operations import MOVING
from parcast_petri.programs.lowering import END, ProgramNet, program_net
from parcast_petri.programs.masters import NOTE
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.pools import net_operations

#: A program of more operations is refused: its net would take more than some 4 GB.
MOST_OPERATIONS = 1_000_000


def loads(query: Query) -> dict[int, Load]:
    """Return the loads of the nodes that have processes."""
    needs = matched_program(query, pools=True).unrolled.needs()
    return loads_of(query, Costs.of(query, needs, WHOLE_NETWORK).placement.node.tolist())


def refusal(query: Query) -> str | None:
    """Return why no net of a query's program can be built, if that is known before."""
    unrolled = matched_program(query, pools=True).unrolled
    if (count := net_operations(unrolled)) > MOST_OPERATIONS:
        return (
            f"{count:,} operations make a net that is too large for petri (at most "
            f"{MOST_OPERATIONS:,}); use a smaller p"
        )
    try:
        for load in loads(query).values():
            load.factor()  # which refuses turns whose switches leave a process no time
    except UnsupportedError as error:
        return str(error)
    return None


def network_assumption(query: Query) -> Iterator[Assumption]:
    """Yield what the net takes for granted where messages may meet."""
    if query.machine.network.contention in ("endpoint", "bus"):
        yield Assumption("messages that meet share the bandwidth by equal parts (option sharing)")


def build_program(query: Query, nodes: Nodes | None = None) -> ProgramNet:
    """Return the net of a query's program under its options."""
    options: Options = query.options or Options()
    with _no_garbage_collection():
        return program_net(query, options, nodes)


def net_notes(program: ProgramNet) -> list[str]:
    """Return the notes on how a program's net was built."""
    notes = [NOTE] if program.dealt else []
    if not any(load.startswith(MOVING) for load in program.net.loads):
        return notes
    note = (
        "petri.memory=ps: processes that move bytes at the same time share the memory bandwidth of "
        "their node; petri.memory=fixed divides it among all processes of the node, as the table "
        "of costs does, and gives times as long or longer"
    )
    return [*notes, note]


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Let the garbage be: a net is millions of objects, all of them needed and none in a circle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def program_arrays(query: Query, program: ProgramNet) -> Arrays:
    """Return a program's net as the kernel reads it; a run ends with the last process."""
    options: Options = query.options or Options()
    large = GAME.worth_compiling(len(program.net.transitions))
    with _no_garbage_collection():
        return kernel_arrays(
            program.net,
            "compiled" if large else "plain",
            evaluation="sequential" if options.sharing == "fixed_sequential" else "batch",
            until=(END, query.p),
        )


def play_program(query: Query, program: ProgramNet) -> Play:
    """Return a run of a program's net to its end."""
    play = Play(program_arrays(query, program))
    play.end()
    return play


def loaded_nodes(query: Query) -> list[int]:
    """Return the node of each process, of those on loaded nodes."""
    needs = matched_program(query, pools=True).unrolled.needs()
    loaded = loads(query)
    nodes: list[int] = Costs.of(query, needs, WHOLE_NETWORK).placement.node.tolist()
    return [node for node in nodes if node in loaded]
