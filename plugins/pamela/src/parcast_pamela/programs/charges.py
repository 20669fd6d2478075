"""What an operation takes on a machine: the numbers of the machine by the names they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs
import numpy as np

from parcast.errors import UnsupportedError
from parcast.model import IN_NETWORK, Costs, Machine
from parcast.program import Op
from parcast.program.matching import COPIED, OWN_BLOCK, Handling, algorithms
from parcast.program.source import COLLECTIVES, VECTOR_COLLECTIVES
from parcast.quantities import Call, Expr, Name, Num
from parcast_pamela.programs.accelerators import Offloaded
from parcast_pamela.programs.borders import Border, borders_of, kind_of

ZERO = Num(0)
_SIZE = Name("size")
ROUNDS = Call("ceil", (Call("log2", (_SIZE,)),))
_OTHERS = Call("-", (_SIZE, Num(1)))

#: Numbers of the machine: the attribute of `Costs` by the name in the model
_NUMBERS: Mapping[str, str] = {
    "startup": "startup",
    "per_byte": "per_byte",
    "overhead": "overhead",
    "overhead_receive": "overhead_receive",
    "overhead_per_byte": "overhead_per_byte",
    "access": "disk_startup",
    "disk_per_byte": "disk_per_byte",
}


#: Algorithms in which all exchange messages of one size in rounds, whatever the number of
#: processes.
_IN_ROUNDS: Mapping[str, tuple[str, ...]] = {
    "barrier": ("dissemination", IN_NETWORK),
    "bcast": (IN_NETWORK,),
    "reduce": (IN_NETWORK,),
    "allreduce": ("dissemination", "ring", IN_NETWORK),
    "scan": ("dissemination",),
    "allgather": ("dissemination", "ring", "bruck"),
    "alltoall": ("bruck", "pairwise"),
    "reduce_scatter": ("bruck", "pairwise", "ring"),
}


#: Collectives that add up what a round brings.
_ADDING = ("allreduce", "scan", "reduce_scatter")


def _without_formula(costs: Costs, machine: Machine, *, slowest: bool) -> str:
    """Return why messages have no one formula; empty where they have."""
    if costs.contention == "fair" and any(level.shared is not None for level in costs.levels):
        return "the processes of a level share its bandwidth here"
    if any(size.expansion != 1 for size in costs.sizes):
        return "messages take up other bytes of links than their own here"
    if costs.fabric is not None:
        if costs.fabric.latency.any() and any(size.latency_factor != 1 for size in costs.sizes):
            return "links have other latencies for messages of other sizes here"
        kind = kind_of(machine)
        if kind != "star" and (not kind or slowest or costs.contention == "none"):
            return "messages pass links between switches here"
        if slowest and costs.contention == "fair" and machine.network.duplex == "half":
            return "messages out of a node and into it share its port here"
    if slowest and costs.overhead_by == "message":
        return "a wait pays for each message that it takes here"
    return ""


def says_more(costs: Costs) -> bool:
    """Return whether a network is more than a startup, a bandwidth and who waits for whom."""
    return (
        costs.contention == "fair"
        or not costs.uniform
        or costs.eager == "waits"
        or costs.overhead_by == "message"
    )


def plus(*terms: Expr) -> Expr:
    """Return a sum without terms that are 0."""
    left = [term for term in terms if term != ZERO]
    if not left:
        return ZERO
    total = left[0]
    for term in left[1:]:
        total = Call("+", (total, term))
    return total


def times(*factors: Expr) -> Expr:
    """Return a product; 0 where a factor is."""
    if ZERO in factors:
        return ZERO
    left = [factor for factor in factors if factor != Num(1)] or [Num(1)]
    product = left[0]
    for factor in left[1:]:
        product = Call("*", (product, factor))
    return product


@attrs.frozen
class Charges:
    """The costs of a machine, numbers that are 0 left out."""

    costs: Costs
    speed: float  #: of every process
    near: bool  #: some message may stay within a node
    slowest: bool  #: where ways differ the slower one counts, else the faster one
    borders: tuple[Border, ...] = ()  #: where messages share links
    offloaded: Offloaded | None = None  #: what a process has of accelerators
    aggregators: int | None = None  #: who access shared files for all, in collective accesses
    handling: Handling = Handling()  #: of bytes in a process's own memory, in collectives

    @classmethod
    def of(
        cls, costs: Costs, machine: Machine, where: str, *, to_itself: bool, slowest: bool
    ) -> Charges:
        """Return the charges of a machine whose processes are alike.

        Parameters
        ----------
        costs, machine
            What the machine charges, and the machine.
        where
            The program, as errors name it.
        to_itself
            Whether some process sends a message to itself.
        slowest
            Whether the model may be no faster than any run, or no slower.

        Raises
        ------
        UnsupportedError
            If processes differ in speed, or share a node and its port, or messages pass more
            than the ports around one switch.
        """
        placement = costs.placement
        speed = float(placement.speed.max())
        if float(placement.speed.min()) != speed:
            raise UnsupportedError(
                f"{where}: the processes here are not of one speed, and the model has one rate; "
                "use spmd, emulator or a machine of equal nodes"
            )
        borders = () if slowest else borders_of(costs, machine)
        if placement.sharing.max() > 1 and costs.contention != "none" and not borders:
            raise UnsupportedError(
                f"{where}: several processes of a node share its way out here, and the model has "
                "one for each; state nodes.cores = 1 or network.contention = none"
            )
        if reason := _without_formula(costs, machine, slowest=slowest):
            raise UnsupportedError(f"{where}: {reason}; use numbers")
        together = [placement.sharing, *(np.bincount(level.instance) for level in costs.levels)]
        near = to_itself or max(int(counts.max()) for counts in together) > 1
        offloaded = Offloaded.of(machine, placement, slowest=slowest)
        return cls(
            costs,
            speed,
            near=near,
            slowest=slowest,
            borders=borders,
            offloaded=offloaded,
            aggregators=machine.storage.aggregators,
            handling=Handling.of(machine.network),
        )

    def values(self) -> dict[str, float]:
        """Return the numbers of the machine that may stand in the model, by name."""
        costs = self.costs
        values = {name: float(getattr(costs, attribute)) for name, attribute in _NUMBERS.items()}
        hops = 0.0
        if costs.fabric is not None:  # all ports are alike, and every message passes two
            hops = float(costs.fabric.latency[:2].sum())
            values["port_per_byte"] = 1 / float(costs.fabric.capacity[0])
        of_port = values.get("port_per_byte", 0.0)
        values["startup"] = self._of_ways("startup", values["startup"] + hops)
        values["per_byte"] = self._of_ways("per_byte", max(values["per_byte"], of_port))
        for border in self.borders:
            values |= border.values()
        if costs.header:
            values["header"] = float(costs.header)
        for number, size in enumerate(costs.sizes):
            values[f"least_{number}"] = float(size.least)
            startup, per_byte = float(size.startup), float(size.per_byte)
            near = (startup, per_byte) if costs.local_by_size else (None, None)
            values[f"startup_{number}"] = self._of_ways("startup", startup + hops, near[0])
            values[f"per_byte_{number}"] = self._of_ways(
                "per_byte", max(per_byte, of_port), near[1]
            )
            values[f"overhead_{number}"] = float(size.overhead)
        receiving = [costs.overhead_receive, *(size.overhead_receive for size in costs.sizes)]
        values["overhead_receive"] = float(max(receiving) if self.slowest else min(receiving))
        if costs.rate is not None:
            values["rate"] = float(costs.rate) * self.speed
        if memory := self.memory():
            values["memory_rate"] = min(memory)
        if self.offloaded is not None:
            values |= self.offloaded.values()
        if self.aggregators is not None:
            values["aggregators"] = self.aggregators
        handling = self.handling
        values |= {"add": handling.add, "copy": handling.copy, "own": handling.own}
        return values | {"disks": costs.disks}

    def _of_ways(self, name: str, far: float, within: float | None = None) -> float:
        """Return a number of messages between nodes, or of nearer ones where these count.

        ``within`` is that of messages within a node where it changes with their size.
        """
        if not self.near:
            return far
        if within is not None:
            return (max if self.slowest else min)(far, within)
        near = [float(getattr(level, name)) for level in self.costs.levels]
        near = near or [float(getattr(self.costs, f"local_{name}"))]
        return (max if self.slowest else min)(far, *near)

    def memory(self) -> list[float]:
        """Return the bandwidths that limit a process's memory traffic."""
        costs, one_of = self.costs, max if self.slowest else min
        of_node, of_core = costs.memory_bandwidth, costs.core_bandwidth
        shares = [] if of_node is None else [float(of_node) / int(one_of(costs.placement.sharing))]
        return shares if of_core is None else [*shares, float(of_core)]

    def number(self, name: str) -> Expr:
        """Return the name of a number of the machine, or 0 where it is 0."""
        return Name(f"${name}") if self.values().get(name, 0) else ZERO

    def compute(self, op: Op) -> Expr:
        """Return the seconds of ``compute`` or ``elapse``."""
        if op.name == "elapse":
            return _number(op, "seconds")
        flops, moved = _number(op, "flops"), _number(op, "bytes")
        if self.offloaded is not None and op.arguments["on"] == "gpu":
            precision, kind = str(op.arguments["precision"]), str(op.arguments["kind"])
            return self.offloaded.seconds(flops, moved, precision, kind)
        working = ZERO if flops == ZERO else Call("/", (flops, Name("$rate")))
        if moved == ZERO or not self.memory():
            return working
        moving = Call("/", (moved, Name("$memory_rate")))
        return moving if working == ZERO else Call("max", (working, moving))

    def sending(self, n: Expr) -> Expr:
        """Return how long a message of ``n`` bytes keeps its sender busy."""
        return plus(self._by_size("overhead", n), times(n, self.number("overhead_per_byte")))

    def receiving(self) -> Expr:
        """Return how long a message keeps its receiver busy."""
        return self.number("overhead_receive")

    @property
    def ports(self) -> bool:
        """Whether each process has a way out of its node, and one in, to itself."""
        shared = bool(self.costs.placement.sharing.max() > 1)
        return self.costs.contention in {"endpoint", "fair"} and not shared

    def waiting(self) -> Expr:
        """Return how long a wait, or posting a receive, keeps a process busy beside messages."""
        return self.receiving() if self.costs.overhead_by == "call" else ZERO

    def startup(self, n: Expr) -> Expr:
        """Return the seconds in which a message of ``n`` bytes shares nothing."""
        return self._by_size("startup", n)

    def wire(self, n: Expr) -> Expr:
        """Return the seconds from the end of sending to the arrival."""
        return plus(self.startup(n), self.transfer(n))

    def transfer(self, n: Expr) -> Expr:
        """Return how long the bytes of a message are on their way."""
        on_wire = n if self.near and not self.slowest else plus(n, self.number("header"))
        return times(on_wire, self._by_size("per_byte", n))

    def port(self, n: Expr) -> Expr:
        """Return how long a message of ``n`` bytes holds a port or the bus."""
        per_byte = self._by_size("per_byte", n)
        if self.costs.contention == "fair":
            per_byte = self.number("port_per_byte")
        return times(plus(n, self.number("header")), per_byte)

    def crossing(self, border: Border, n: Expr) -> Expr:
        """Return how long a message of ``n`` bytes holds all links of a border."""
        return times(plus(n, self.number("header")), self.number(f"{border.name}_per_byte"))

    def _by_size(self, name: str, n: Expr) -> Expr:
        """Return a number of messages of ``n`` bytes."""
        value, values = self.number(name), self.values()
        for number in range(len(self.costs.sizes)):
            if values[f"{name}_{number}"] != values[f"{name}_{number - 1}" if number else name]:
                larger = Call(">=", (n, Name(f"$least_{number}")))
                value = Call("if", (larger, self.number(f"{name}_{number}"), value))
        return value

    def piece(self, op: Op) -> Expr:
        """Return how long an access takes at each disk it goes to.

        Where aggregators access a file for all, it is the part of each process: its bytes, and its
        share of the accesses that there are.
        """
        n, access = _number(op, "bytes"), self.number("access")
        if self.striped(op):
            n = n if self.costs.disks == 1 else Call("/", (n, Name("$disks")))
        if self.buffered(op) and access != ZERO:
            accessing = Call("min", (Name("$aggregators"), _SIZE))
            access = Call("/", (times(access, accessing), _SIZE))
        return plus(access, times(n, self.number("disk_per_byte")))

    def buffered(self, op: Op) -> bool:
        """Return whether some access the file for all others."""
        together = op.arguments["collective"] and op.arguments["file"] == "shared"
        return self.aggregators is not None and bool(together)

    def striped(self, op: Op) -> bool:
        """Return whether an access goes to all disks."""
        return self.costs.striped(str(op.arguments["file"]))

    def rounds(self, op: Op) -> Iterator[tuple[Expr, Expr]]:
        """Yield how often, and with how many bytes, all exchange a message in a collective.

        Nothing where the algorithm lets one process leave before another has come, or where each
        may bring bytes of its own.
        """
        if op.arguments.get("color") is not None or op.name in VECTOR_COLLECTIVES:
            return
        n = ZERO if op.name == "barrier" else _number(op, "bytes")
        algorithm = self.algorithms()[op.name]
        if algorithm not in _IN_ROUNDS.get(op.name, ()):
            return
        if op.name == "allgather" and algorithm != "ring":
            if self.costs.sizes:  # of the sizes of its rounds only the sum is a formula
                return
            mean = Call("/", (times(_OTHERS, n), ROUNDS))  # of rounds that differ
            yield ROUNDS, Call("if", (Call(">", (_SIZE, Num(1))), mean, ZERO))
        elif algorithm == "dissemination":
            yield ROUNDS, n
        elif algorithm == IN_NETWORK:  # once, where there is somebody else
            yield Call("min", (Num(1), _OTHERS)), n
        elif algorithm == "ring" and op.name == "allreduce":
            yield times(Num(2), _OTHERS), Call("/", (n, _SIZE))
        elif algorithm in {"ring", "pairwise"}:
            yield _OTHERS, n
        else:
            yield ROUNDS, Call("/", (times(n, _SIZE), Num(2)))

    def added(self, op: Op) -> Expr:
        """Return the seconds in which a process adds up what it receives in all `rounds`."""
        rounds = list(self.rounds(op))
        algorithm = self.algorithms()[op.name]
        if op.name not in _ADDING or algorithm == IN_NETWORK or not rounds:
            return ZERO
        ((count, n),) = rounds
        if algorithm == "ring" and op.name == "allreduce":  # the other half hands on
            count = _OTHERS
        return times(count, n, self.number("add"))

    def copied(self, op: Op) -> Expr:
        """Return the seconds in which a process copies what it brings to a collective."""
        if op.name in OWN_BLOCK:
            return times(_number(op, "bytes"), self.number("own"))
        if op.name not in COPIED or self.algorithms()[op.name] == IN_NETWORK:
            return ZERO
        n = _number(op, "bytes")
        whole = times(n, _SIZE) if op.name == "reduce_scatter" else n
        return times(whole, self.number("copy"))

    def algorithms(self) -> Mapping[str, str]:
        """Return the algorithm of each collective."""
        return algorithms(self.costs.algorithms)


def is_collective(op: Op) -> bool:
    """Return whether an operation is one of many processes."""
    return op.name in COLLECTIVES


def _number(op: Op, name: str) -> Expr:
    value = op.arguments[name]
    assert not isinstance(value, str | bool | None)
    return ZERO if isinstance(value, Num) and value.value == 0 else value
