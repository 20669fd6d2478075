"""What every petri solver finds out about a query first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from parcast import Assumption
from parcast.errors import UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Parts, Prediction, Query
from parcast.plugins import without_collection
from parcast.program.matching import matched_program
from parcast_petri.compilation import GAME
from parcast_petri.kernel import layout as k
from parcast_petri.machine.background import Background
from parcast_petri.machine.load import Load, loads_of
from parcast_petri.nets.arrays import Arrays, kernel_arrays
from parcast_petri.nets.token_game import Play
from parcast_petri.options import Options
from parcast_petri.programs.accounting import Account
from parcast_petri.programs.at_once import ColumnProgram, column_program, is_plain
from parcast_petri.programs.dealing import (
    FEW_OPERATIONS,
    Dealing,
    can_be_dealt,
    net_operations,
)
from parcast_petri.programs.dealing import NOTE as DEALT
from parcast_petri.programs.local_operations import MOVING
from parcast_petri.programs.lowering import END, ProgramNet, program_net
from parcast_petri.programs.masters import NOTE
from parcast_petri.programs.nodes import Nodes
from parcast_petri.programs.traffic import random_traffic

#: Programs of more operations are refused, whose net would take more than some 4 GB: built an
#: object for each place and transition, and in columns.
MOST_OPERATIONS, MOST_IN_COLUMNS = 1_000_000, 10_000_000


#: Of all runs, below which no usual quantile is the time of idle nodes.
LEAST_UNDELAYED = 0.05


def loads(query: Query) -> dict[int, Load]:
    """Return the loads of the nodes that have processes."""
    needs = matched_program(query, pools=True).unrolled.needs()
    costs = Costs.of(query, needs, WHOLE_NETWORK)  # which refuses a machine that lacks a number
    if query.machine.part("background", Background) is None:
        return {}
    return loads_of(query, costs.placement.node.tolist())


def refusal(query: Query) -> str | None:
    """Return why no net of a query's program can be built, if that is known before."""
    try:
        background = loads(query)
        unrolled = matched_program(query, pools=True).unrolled
        count = unrolled.count()
        if unrolled.pools:
            count = net_operations(unrolled, dealt=can_be_dealt(query, Nodes(background)))
        if count > MOST_OPERATIONS:
            plain = not background and is_plain(query, query.options or Options())
            most = MOST_IN_COLUMNS if plain else MOST_OPERATIONS
            if count > most:
                return (
                    f"{count:,} operations make a net that is too large for petri (at most "
                    f"{most:,}{'' if plain else ' of such a program'}); use a smaller p"
                )
        for load in background.values():
            load.factor()  # which refuses turns whose switches leave a process no time
            if load.memory and load.turns is not None:
                return (
                    "jobs that take turns and draw memory bandwidth are in no net; leave out "
                    "background.memory, or set background.scheduling to ps"
                )
    except UnsupportedError as error:
        return str(error)
    return None


def network_assumption(query: Query) -> Iterator[Assumption]:
    """Yield what the net takes for granted where messages may meet."""
    if query.machine.network.contention in ("endpoint", "bus"):
        yield Assumption("messages that meet share the bandwidth by equal parts (option sharing)")


def build_program(
    query: Query, nodes: Nodes | None = None, dealing: Dealing | None = None
) -> ProgramNet:
    """Return the net of a query's program under its options."""
    options: Options = query.options or Options()
    with without_collection():
        return program_net(query, options, nodes, dealing)


def undelayed(query: Query, times: NDArray[np.float64]) -> str | None:
    """Return why quantiles are the time of idle nodes, where some of the usual ones are."""
    background = loads(query)
    if not background or random_traffic(query):
        return None
    idle = play_once(query, Nodes()).account.time
    part = float(np.mean(times <= idle * (1 + 1e-9)))
    if part < LEAST_UNDELAYED:
        return None
    if part < 1:
        return (
            f"in {part:.0%} of runs no job of others delays the program: quantiles up to there are "
            "its time on idle nodes"
        )
    program, nodes = matched_program(query, pools=True).unrolled, query.machine.nodes
    moving = any(
        np.any(block.arguments["bytes"]) for block in program.blocks if block.op == "compute"
    )
    limited = nodes.memory_bandwidth is not None or nodes.core_bandwidth is not None
    if moving and limited and not all(load.memory for load in background.values()):
        return (
            "background jobs delay nothing: computations wait for the memory, of which these jobs "
            "draw nothing; state background.memory where they do"
        )
    return (
        "background jobs delay nothing in any run: cores were free, or what takes longest is no "
        "computation on the cores and the memory that they use"
    )


def query_notes(query: Query) -> list[str]:
    """Return what rows say of the question, however its program is played."""
    return [*_memory_notes(query), *_sharing_notes(query)]


def _memory_notes(query: Query) -> list[str]:
    """Return a note where jobs draw of a memory that is no limit."""
    drawn = any(load.memory for load in loads(query).values())
    if not drawn or query.machine.nodes.memory_bandwidth is not None:
        return []
    return ["background.memory has no effect: the machine states no nodes.memory_bandwidth"]


def _sharing_notes(query: Query) -> list[str]:
    """Return a note where messages that meet share what other families serve in turn."""
    contention = query.machine.network.contention
    options: Options = query.options or Options()
    if contention not in ("bus", "endpoint") or options.sharing is not None or query.p == 1:
        return []
    if "messages" not in matched_program(query, pools=True).unrolled.needs():
        return []
    place = "the bus" if contention == "bus" else "a port"
    how = "share it; other families serve them one after another, as petri.sharing=fcfs does"
    return [f"messages that meet at {place} {how}"]


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


def program_arrays(query: Query, program: ProgramNet) -> Arrays:
    """Return a program's net as the kernel reads it; a run ends with the last process."""
    options: Options = query.options or Options()
    large = GAME.worth_compiling(len(program.net.transitions))
    with without_collection():
        return kernel_arrays(
            program.net,
            "compiled" if large else "plain",
            evaluation="sequential" if options.sharing == "fixed_sequential" else "batch",
            until=(END, query.p),
        )


@attrs.frozen(eq=False)
class Played:
    """One run of a program's net to its end."""

    account: Account
    notes: tuple[str, ...]  #: on how the net was built
    transitions: int
    firings: int
    times: Sequence[float] = ()  #: when each fired, of a net that is not in columns

    def prediction(self, notes: Sequence[str], **details: Any) -> Prediction:
        """Return the prediction of a run without random times."""
        parts = Parts(*self.account.spent.mean(axis=0).tolist())
        return Prediction(
            time=self.account.time,
            parts=parts,
            binding=parts.largest,
            notes=tuple(notes),
            details={
                "transitions": self.transitions,
                **details,
                "ends": self.account.ends.tolist(),
            },
        )


def play_once(query: Query, nodes: Nodes) -> Played:
    """Build a program's net, in columns where it can be, and play it to its end."""
    options: Options = query.options or Options()
    if not nodes.loads and is_plain(query, options):
        with without_collection():
            return _play_columns(query, column_program(query, options))
    if can_be_dealt(query, nodes) and (played := _play_dealt(query, nodes)):
        return played
    return _play(query, build_program(query, nodes))


def _play_dealt(query: Query, nodes: Nodes) -> Played | None:
    """Play a large net whose tasks are dealt; None: one that decides it is small enough."""
    operations = net_operations(matched_program(query, pools=True).unrolled)
    if operations <= FEW_OPERATIONS:
        return None
    dealing = Dealing.of(query)
    program = build_program(query, nodes, dealing)
    played = _play(query, program)
    if dealing.is_confirmed(program.asked, played.times):
        return played
    if operations <= MOST_OPERATIONS:
        return None
    return attrs.evolve(played, notes=(*played.notes, DEALT))


def _play(query: Query, program: ProgramNet) -> Played:
    play = Play(program_arrays(query, program))
    play.end()
    times = play.memory.column(k.LAST)
    notes = tuple(net_notes(program))
    account = program.records.read(times)
    return Played(account, notes, len(program.net.transitions), play.firings, times)


def _play_columns(query: Query, program: ColumnProgram) -> Played:
    large = GAME.worth_compiling(len(program.net))
    net_arrays = program.net.arrays("compiled" if large else "plain", (program.end, query.p))
    transitions, records = len(program.net), program.records
    del program  # the kernel has a memory of its own
    play = Play(net_arrays)
    play.end()
    account = records.read(play.memory.entries(k.LAST))
    return Played(account, (), transitions, play.firings)


def loaded_nodes(query: Query) -> list[int]:
    """Return the node of each process, of those on loaded nodes."""
    needs = matched_program(query, pools=True).unrolled.needs()
    loaded = loads(query)
    nodes: list[int] = Costs.of(query, needs, WHOLE_NETWORK).placement.node.tolist()
    return [node for node in nodes if node in loaded]
