"""The messages of a collective by the algorithm that a machine names, or that its library takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model.machine import Machine
from parcast.model.messages import IN_NETWORK, levels_of
from parcast.model.placement import place
from parcast.model.query import Query
from parcast.program.matching.collectives import composed, shifts, trees
from parcast.program.matching.collectives.groups import Groups, Step, parts, some
from parcast.program.matching.collectives.handling import Handling, copied
from parcast.program.matching.collectives.libraries import LIBRARIES
from parcast.program.matching.collectives.names import (
    ALGORITHMS,
    HIERARCHICAL,
    Algorithms,
    algorithms,
)
from parcast.program.matching.collectives.table import OF_ANY_SIZES, OF_ONE_SIZE, Call
from parcast.program.source.operations import VECTOR_COLLECTIVES
from parcast.program.unroll.blocks import Ranks

_ALL_TO_ALL = ("alltoall", "alltoallv", "allgather", "allgatherv")


def placed(query: Query) -> Algorithms:
    """Return the algorithms that a query's machine names, with where its processes are.

    Raises
    ------
    FileError
        If a collective or its algorithm is not known.
    InvalidPointError, UnsupportedError
        If some depend on where processes are, and the query has no placement; if switches shall do
        what those of the machine cannot.
    """
    machine = query.machine
    chosen = attrs.evolve(
        algorithms(machine.network.collectives),
        aggregators=machine.storage.aggregators,
        handling=Handling.of(machine.network),
    )
    if not chosen.placed:
        return chosen
    if chosen.in_network:
        _check_switches(machine)
    placement = place(query)
    levels: tuple[Ranks, ...] = (placement.node,)
    if machine.network.levels:
        free = (0.0, 0.0)
        levels = tuple(level.instance for level in levels_of(machine, placement, free, free))
    return attrs.evolve(chosen, levels=levels, nodes=placement.node)


def _check_switches(machine: Machine) -> None:
    """Refuse a network without switches that could do a collective."""
    topology = machine.parts.get("topology")
    if machine.network.contention == "bus":
        reason = "a bus has no switches"
    elif topology is not None and not topology.is_tree:
        reason = "its topology has no switch above all nodes (star, fat-tree and rails have)"
    else:
        return
    raise UnsupportedError(
        f"machine {machine.name!r} states {IN_NETWORK} in network.collectives, and {reason}; name "
        "an algorithm of processes, such as tree"
    )


def steps(op: str, chosen: Mapping[str, str], among: Groups, bytes_: Any, root: Any) -> list[Step]:
    """Return the messages of a collective, each process's in its order.

    Bytes and root are numbers, or a column over the lanes; groups of one send nothing. In a
    ``scatterv`` the bytes are those that a process gets. What processes add up and copy meanwhile
    elapses, where the algorithms have what it takes.
    """
    amount = bytes_ * 1.0  # products of integers would wrap
    names = chosen if isinstance(chosen, Algorithms) else Algorithms(chosen)
    messages = _messages(names, op, among, amount, root)
    if names[op] != IN_NETWORK:  # switches write a result where it belongs
        messages = chain(copied(op, among, amount), messages)
    return [step for step in names.handling.priced(messages) if len(step.ranks)]


def _messages(chosen: Algorithms, op: str, among: Groups, amount: Any, root: Any) -> Iterator[Step]:
    """Yield the messages of groups of any sizes by the machine's algorithm."""
    name, call = chosen[op], Call(op, among, amount, root)
    if name not in LIBRARIES:
        yield from _by(name, chosen, call)
        return
    library = LIBRARIES[name]
    n = _mean(among, amount) if op in VECTOR_COLLECTIVES else amount
    for lanes, (size, bytes_, nodes) in parts(among, among.size, n, _over_nodes(chosen, among)):
        part = _taken(lanes, call)
        if nodes and library.follows_nodes(op, int(size), bytes_):
            assert chosen.nodes is not None
            yield from _by_levels(attrs.evolve(chosen, nodes=None), (chosen.nodes,), name, part)
        else:
            yield from _by(library.algorithm(op, int(size), bytes_), chosen, part)


def _taken(lanes: Any, call: Call) -> Call:
    """Return a call of some lanes only; None: of all."""
    if lanes is None:
        return call
    amount, root = some(call.amount, lanes), some(call.root, lanes)
    return Call(call.op, call.among.take(lanes), amount, root)


def _mean(among: Groups, amount: Any) -> Any:
    """Return the mean of the bytes of each lane's group."""
    if not isinstance(amount, np.ndarray):
        return amount
    return composed.of_all(among, amount) / among.size


def _over_nodes(chosen: Algorithms, among: Groups) -> Any:
    """Return whether each lane's group is on several nodes, with several processes on one."""
    if chosen.nodes is None:
        return False
    by_node = among.regroup(np.ones(len(among.ranks), np.bool_), chosen.nodes[among.ranks])
    nodes = composed.of_all(among, (by_node.position == 0).astype(float))
    shared = (nodes > 1) & (nodes < among.size)
    return shared if isinstance(among.size, np.ndarray) else bool(shared.any())


def _by(name: str, chosen: Algorithms, call: Call) -> Iterator[Step]:
    """Yield the messages by an algorithm of this name."""
    if name == IN_NETWORK:
        yield from shifts.in_network(call.among.by_place(chosen.levels), call.amount)
        return
    algorithm = OF_ANY_SIZES.get((call.op, name)) or OF_ANY_SIZES.get(name)
    if algorithm and not (call.op in _ALL_TO_ALL and name == "linear"):
        yield from algorithm(call)
        return
    unlike = call.op in VECTOR_COLLECTIVES
    for lanes, (size, bytes_) in parts(call.among, call.among.size, 0.0 if unlike else call.amount):
        part = _taken(lanes, call)
        alike = attrs.evolve(part.among, size=int(size))
        part = attrs.evolve(part, among=alike, amount=part.amount if unlike else bytes_)
        yield from _of_one_size(name, chosen, part)


def _of_one_size(name: str, chosen: Algorithms, call: Call) -> Iterator[Step]:
    """Yield the messages of groups of one size, of one number of bytes where each has the same."""
    kind, _, inner = name.partition(" ")
    if kind == HIERARCHICAL:
        between = inner or ALGORITHMS[call.op][0]
        return _by_levels(chosen, chosen.levels, between, call)
    if name in trees.TREES:
        return trees.tree(call.op, name, call.among, call.amount, call.root)
    if name in composed.IN_TURN:
        messages = partial(_messages, _flat(chosen))
        return composed.in_turn(name, call.among, call.amount, messages)
    return OF_ONE_SIZE[name](call)


def _flat(chosen: Algorithms) -> Algorithms:
    """Return the algorithms that hold within a level and between leaders."""
    names = {
        op: name.removeprefix(HIERARCHICAL).strip() or ALGORITHMS[op][0]
        for op, name in chosen.names.items()
    }
    return attrs.evolve(chosen, names=names, nodes=None)


def _by_levels(
    chosen: Algorithms, levels: Sequence[Ranks], between: str, call: Call
) -> Iterator[Step]:
    """Yield the messages within levels by the algorithms named, and between leaders by one."""
    flat, op = _flat(chosen), call.op
    unlike = between if op == "allgather" else "linear"
    leaders = attrs.evolve(flat, names={**flat.names, op: between, f"{op}v": unlike})
    within, outer = partial(_messages, flat), partial(_messages, leaders)
    return composed.hierarchical(op, call.among, call.amount, call.root, levels, within, outer)
