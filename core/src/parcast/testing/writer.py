"""Writes the source of random programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random

import attrs

from parcast.program.source.operations import VECTOR_COLLECTIVES


@attrs.frozen
class Numbers:
    """From which numbers are drawn: powers of two, or decimals."""

    milli: float  #: a second's thousandth, or nearly: what a large unit of operations often takes
    mega: float  #: a rate: a large unit in a ``milli``
    units: tuple[int, int, int]  #: of operations and bytes, the largest last
    weights: tuple[float, ...]  #: of nodes that are not as all others
    parameter: float  #: the value of a parameter that is no whole number

    @property
    def limits(self) -> tuple[float, ...]:
        """Bytes of messages, the largest of them among the smaller ones."""
        small, _, large = self.units
        return float(small), float(large), 2.0 * large


DYADIC = Numbers(2.0**-10, 2.0**20, (64, 512, 1024), (0.5, 2.0), 1.25)
DECIMAL = Numbers(1e-3, 1e6, (100, 300, 1000), (0.7, 0.3, 1.1), 1.3)

_ROOTED = ("bcast", "reduce", "gather", "scatter", "gatherv", "scatterv")
_ROOTLESS = (
    *("allreduce", "allgather", "alltoall", "reduce_scatter", "scan"),
    *("allgatherv", "alltoallv"),
)
#: A number of bytes that every group of up to eight processes divides.
_DIVISIBLE = 840


def write(
    random: Random,
    size: int,
    *,
    steps: int,
    features: Collection[str],
    wildcards: bool,
    pools: bool,
    algorithms: str,
    eager: bool,
    numbers: Numbers,
) -> str:
    """Return the source of a program for ``size`` processes (see `random_program`)."""
    written = _Writer(random, size, features, algorithms, eager, numbers)
    written.kinds += [written.collect] * (3 * (wildcards and size > 1))
    written.kinds += [written.pool, written.pool, written.pool, written.assign] * pools
    return written.program(steps)


class _Writer:
    """Writes a program step by step; every step can be done by all its processes in turn.

    A step holds both sides of each of its messages, so whatever order the processes take them
    in, the first step that anybody is in can be done: nothing waits for ever.
    """

    def __init__(
        self,
        random: Random,
        size: int,
        features: Collection[str],
        algorithms: str,
        eager: bool,
        numbers: Numbers,
    ) -> None:
        self.random = random
        self.numbers = numbers
        self.idle = random.random() < 0.05  #: it computes nothing
        self.size = size
        self.features = features
        self.algorithms = algorithms  #: the algorithms of collectives
        self.eager = eager  #: no message waits for its receive
        self.loops: list[str] = []  #: the variables of the loops around
        self.handles = 0
        self.wildcard_tag = 2  #: beyond all others; every use takes a new one
        self.open: list[tuple[int, str]] = []  #: ranks and the requests that they must wait for
        kinds: dict[str, Callable[[], list[str]]] = {
            "compute": self.compute,
            "elapse": self.elapse,
            "pairs": self.pair,
            "shifts": self.shift,
            "requests": self.group,
            "collectives": self.collective,
            "io": self.access,
            "loops": self.loop,
            "regions": lambda: [f'region("{random.choice("abc")}")'],
            "start": lambda: self.one_rank("start()"),
        }
        common = ("compute", "pairs", "shifts", "requests", "collectives")
        messages = () if size > 1 else ("pairs", "requests")
        used = [kind for kind in kinds if kind in features and kind not in messages]
        self.kinds = [kinds[kind] for kind in used for _ in range(1 + 2 * (kind in common))]

    def program(self, steps: int) -> str:
        lines = [line for _ in range(steps) for line in self.step()]
        lines += ["waitall()"] if self.open else []
        head = f"def program(rank, size, n=3, f={self.numbers.parameter}):"
        lines = ["x = f * n", *lines] if self.pool in self.kinds else lines or ["pass"]
        return "\n    ".join([head, *lines]) + "\n"

    def step(self) -> list[str]:
        lines: list[str] = []
        if self.open and self.chance(0.3):
            rank, handle = self.open.pop(self.random.randrange(len(self.open)))
            lines = self.only(rank, f"wait({handle})")
        return lines + (self.random.choice(self.kinds)() if self.kinds else [])

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def only(self, rank: int, *lines: str) -> list[str]:
        return [f"if rank == {rank}:", *_indented(lines)]

    def one_rank(self, line: str) -> list[str]:
        """Return a line for all ranks or for some."""
        if self.chance(0.6):
            return [line]
        rank = self.random.randrange(self.size)
        test = self.random.choice([f"rank == {rank}", f"rank >= {rank}", "rank % 2 == 0"])
        return [f"if {test}:", f"    {line}"]

    def amount(self, *, alike: bool = False) -> str:
        """Return a whole number, perhaps of the rank or a loop's variable."""
        amount = f"{self.random.choice([1, 1, 2, 3, 5])} * {self.unit()}"
        if self.loops and self.chance(0.2):
            return f"({self.loops[-1]} + 1) * {amount}"
        if not alike and self.chance(0.3):
            return f"(rank * {self.random.randint(1, 3)} + 1) % 4 * {amount}"
        return self.random.choice([amount, amount, amount, "0", "1"])

    def unit(self) -> int:
        return self.random.choice(self.numbers.units)

    def tag(self) -> str:
        return self.random.choice(["", ", 1", ", tag=2"])

    def handle(self) -> str:
        self.handles += 1
        return f"r{self.handles}"

    def compute(self) -> list[str]:
        if self.idle:
            return self.one_rank("compute(0)")
        moved = f", {self.amount()}" if "memory" in self.features and self.chance(0.3) else ""
        return self.one_rank(f"compute({self.amount()}{moved})")

    def elapse(self) -> list[str]:
        return self.one_rank(f"elapse({0 if self.idle else self.amount()} / {self.mega})")

    @property
    def mega(self) -> int:
        return int(self.numbers.mega)

    def assign(self) -> list[str]:
        """Return another value of the variable that tasks of pools read."""
        return ["x = x % 4 + f"]

    def weight(self) -> str:
        """Return how much of a unit a task is: of floats, parameters and a loop's variable."""
        around = [f"(task + {i} * f)" for i in self.loops]
        return self.random.choice(
            [
                f"task % {self.random.randint(1, 4)}",
                *("(task + f)", "(task + x)", "abs(n * x - task)", "abs(task - x)", "f", "x"),
                *around,
                *around,
            ]
        )

    def pool(self) -> list[str]:
        """Return tasks of unlike size for all processes or for some."""
        unit, kind = self.unit(), self.random.choice(["compute({})", "elapse({} / mega)"])
        kind = kind.replace("mega", str(self.mega))
        work = [kind.format("0" if self.idle else f"{self.weight()} * {unit}")]
        if self.chance(0.2):
            work = [f"share = {self.weight()}", f"compute(share * {unit}, share * {unit})", *work]
        if "io" in self.features and self.chance(0.3):
            file = self.random.choice(["", ', "shared"'])
            work += ["if task % 3 == 0:", f"    write({self.weight()} * {unit}{file})"]
        fetched = self.random.choice(["", f", bytes={unit}", f", bytes={self.weight()} * {unit}"])
        loop = f"for task in pool(range({self.random.randint(0, 9)}){fetched}):"
        lines = [loop, *_indented(work)]
        first, *others = self.one_rank("pass")
        return [first, *_indented(lines)] if others else lines

    def two(self) -> Sequence[int]:
        return self.random.sample(range(self.size), 2)

    def pair(self) -> list[str]:
        source, target = self.two()
        tag = self.tag()
        sends = self.only(source, f"send({target}, {self.amount()}{tag})")
        receives = self.only(target, f"recv({source}{tag})")
        return [*sends, *receives] if self.chance(0.5) else [*receives, *sends]

    def shift(self) -> list[str]:
        """Return an exchange with a neighbor, on a ring or along a line."""
        by = self.random.randint(1, self.size)
        if by == self.size and "self" not in self.features:
            return []
        right, left, tag = f"(rank + {by}) % size", f"(rank - {by}) % size", self.tag()
        amount, first, second = self.amount(), self.handle(), self.handle()
        ways = [
            [
                f"if rank + {by} < size:",
                f"    send(rank + {by}, {amount}{tag})",
                f"if rank >= {by}:",
                f"    recv(rank - {by}{tag})",
            ]
        ]
        if "sendrecv" in self.features:
            ways.append([f"sendrecv({right}, {amount}, {left}{tag})"])
        if "requests" in self.features:
            started = [f"{first} = isend({right}, {amount}{tag})", f"{second} = irecv({left}{tag})"]
            waits = [f"wait({first})", f"wait({second})"]
            between = self.compute() if "compute" in self.features else []
            ways += [
                [started[0], *between, f"recv({left}{tag})", waits[0]],
                [started[1], f"send({right}, {amount}{tag})", *between, waits[1]],
                [*self.shuffled(started), *between, *self.shuffled(waits)],
            ]
        return self.random.choice(ways)

    def shuffled(self, items: Sequence[str]) -> list[str]:
        return self.random.sample(items, len(items))

    def group(self) -> list[str]:
        """Return some messages in any order; in a loop they are waited for at once."""
        started: list[list[str]] = []
        for _ in range(self.random.randint(1, 3)):
            (source, target), tag = self.two(), self.tag()
            first, second = self.handle(), self.handle()
            started.append(self.only(source, f"{first} = isend({target}, {self.amount()}{tag})"))
            started.append(self.only(target, f"{second} = irecv({source}{tag})"))
            self.open += [(source, first), (target, second)]
        self.random.shuffle(started)
        self.random.shuffle(self.open)
        return [line for lines in started for line in lines] + self.closing()

    def closing(self) -> list[str]:
        """Return waits for requests: all of them in a loop, else perhaps those of one rank."""
        if self.chance(0.3):
            self.open.clear()
            return ["waitall()"]
        if self.loops:
            waits = [
                line for rank, handle in self.open for line in self.only(rank, f"wait({handle})")
            ]
            self.open.clear()
            return waits
        rank = self.random.randrange(self.size)
        self.open = [(owner, handle) for owner, handle in self.open if owner != rank]
        return self.only(rank, "waitall()")

    def collective(self) -> list[str]:
        name = self.random.choice(["barrier", *_ROOTED, *_ROOTLESS])
        arguments, smallest = [], self.size
        if name != "barrier":
            amount = self.amount(alike=name not in VECTOR_COLLECTIVES)
            divided = name == "allreduce" and "allreduce ring" in self.algorithms
            arguments.append(f"{amount} * {_DIVISIBLE}" if divided else amount)
        color = ""
        if "colors" in self.features and self.chance(0.4):
            by = self.random.randint(1, self.size)
            color, smallest = self.random.choice(
                [(f"rank % {by}", self.size // by), (f"rank // {by}", self.size % by or by)]
            )
        if name in _ROOTED and self.chance(0.6):
            arguments.append(f"root={self.random.randrange(smallest)}")
        return [f"{name}({', '.join([*arguments, *([f'color={color}'] if color else [])])})"]

    def access(self) -> list[str]:
        name, file = self.random.choice(["read", "write"]), self.random.choice(["own", "shared"])
        if "collectives" in self.features and self.chance(0.2):
            return [f'{name}({self.amount()}, "{file}", collective=True)']
        return self.one_rank(f'{name}({self.amount()}, "{file}")')

    def loop(self) -> list[str]:
        if len(self.loops) == 2:
            return []
        before, self.open = (["waitall()"] if self.open else []), []
        variable = "ij"[len(self.loops)]
        self.loops.append(variable)
        body = [line for _ in range(self.random.randint(1, 3)) for line in self.step()]
        self.loops.pop()
        head = f"for {variable} in range({self.random.randint(0, 3)}):"
        return [*before, head, *_indented(body or ["pass"])]

    def collect(self) -> list[str]:
        """Return a rank that takes a message of every other one, whichever comes first."""
        root, count = self.random.randrange(self.size), self.random.randint(1, 2)
        tag = self.round_tag()
        work = [f"    {line}" for line in self.compute()] if "compute" in self.features else []
        return [
            f"if rank == {root}:",
            f"    for k in range({count} * (size - 1)):",
            f"        recv(ANY, {tag})",
            *_indented(work),
            "else:",
            f"    for k in range({count}):",
            f"        send({root}, {self.amount()}, {tag})",
            *_indented(work),
        ]

    def round_tag(self) -> str:
        """Return a tag of this step alone, and of this round of the loops around.

        Where no send waits, all rounds may share it: a fast sender's next message may then take
        the place of a slow one's, which would wait for ever if it waited for its receive.
        """
        first, self.wildcard_tag = self.wildcard_tag + 1, self.wildcard_tag + 9
        if not self.loops or (self.eager and self.chance(0.5)):
            return str(first)
        return " + ".join([str(first), *(f"{3**n} * {i}" for n, i in enumerate(self.loops))])


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
