"""Random sources in the language, mostly with a meaning, for tests against Python's execution."""

import random

COLLECTIVES = ["allreduce", "allgather", "alltoall", "reduce_scatter", "scan"]
ROOTED = ["bcast", "reduce", "gather", "scatter"]


class Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["rank", "size", "n", "f", "x", "y"]
        self.lines: list[str] = []
        self.loops = 0

    def number(self, depth: int = 3) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            literals = ["0", "1", "2", "3", "7", "0.5", "2.5", "1e9", "2**53 + 1", "10**18"]
            return rng.choice(self.names * 2 + literals)
        a, b = self.number(depth - 1), self.number(depth - 1)
        safe = f"(abs({b}) + 1)" if rng.random() < 0.95 else f"({b})"
        return rng.choice(
            [
                *(f"({a} {sign} {b})" for sign in "+-*"),
                *(f"({a} {sign} {safe})" for sign in ("/", "//", "%")),
                f"({a}) ** {rng.choice(['2', '3', '0.5', 'rank', '(rank - 1)'])}",
                f"(-({a}))",
                f"abs({a})",
                f"{rng.choice(['min', 'max'])}({a}, {b})",
                f"{rng.choice(['floor', 'ceil', 'floor', 'sqrt'])}(abs({a}))",
                f"isqrt(abs(floor({a})))",
                f"(floor({a}) {rng.choice('^&|')} floor({b}))",
                f"({a} {rng.choice('^&|')} rank)",
                f"(floor({a}) << {rng.choice(['2', '61', 'rank', '(rank - 1)'])})",
                f"(floor({a}) >> {rng.choice(['2', '61', 'rank', '(rank - 1)'])})",
                f"(~rank if rank % 2 else ~floor({a}))",
                f"log2{safe}" if safe[1] == "a" else f"log2({safe})",
                f"dims(size, 2, floor(abs({a})) % 2)",
                f"({a} if {self.test(depth - 1)} else {b})",
                f"({a} {rng.choice(['and', 'or'])} {b})",
                self.test(depth - 1),
            ]
        )

    def test(self, depth: int = 2) -> str:
        a, b = self.number(min(depth, 1)), self.number(min(depth, 1))
        compared = f"({a} {self.rng.choice(['==', '!=', '<', '<=', '>', '>='])} {b})"
        simple = f"rank {self.rng.choice(['==', '<', '>', '% 2 =='])} {self.rng.randrange(4)}"
        chained = f"(0 < rank < {b})"
        return self.rng.choice([compared, f"({simple})", f"({simple})", f"(not {a})", chained])

    def whole(self, below: str) -> str:
        safe = f"floor({self.number(2)}) % {below}"
        return safe if self.rng.random() < 0.98 else self.number(1)

    def amount(self) -> str:
        return f"abs({self.number()})" if self.rng.random() < 0.98 else self.number()

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def body(self, depth: int) -> None:
        for _ in range(self.rng.randint(1, 4)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        rng = self.rng
        kind = rng.random() if depth < 4 else rng.uniform(0.35, 1)
        if kind < 0.2:
            self.write(depth, f"if {self.test()}:")
            self.body(depth + 1)
            if rng.random() < 0.5:
                self.write(depth, "else:")
                self.body(depth + 1)
        elif kind < 0.35:
            self.loops += 1
            start, stop = f"floor({self.number(1)}) % 4", f"min({self.whole('5')}, 5)"
            bounds = rng.choice([stop, f"{start}, {stop}", f"{start}, -1, -1 - rank % 2"])
            name = rng.choice(["i", "j", "x"])
            self.write(depth, f"for {name} in range({bounds}):")
            self.names.append(name)
            self.body(depth + 1)
            if rng.random() < 0.8:
                self.names.remove(name)
        elif kind < 0.55:
            name = rng.choice(["x", "y"])
            self.write(depth, f"{name} {rng.choice(['=', '=', '+='])} {self.number()}")
        else:
            self.operation(depth)

    def operation(self, depth: int) -> None:
        rng = self.rng
        peer, source, tag = self.whole("size"), self.whole("size"), self.whole("4")
        color = rng.choice(["", f", color={self.whole('3')}", ", color=None"])
        amount = self.amount()
        chosen = rng.choice(
            [
                f"compute({amount})",
                f"compute({amount}, bytes={self.amount()})",
                f"elapse({amount})",
                f"send({peer}, {amount}, {tag})",
                f"recv({peer}, tag={tag})",
                "recv(ANY)",
                f"sendrecv({peer}, {amount}, {source}, {tag})",
                f"barrier({color[2:]})",
                f"{rng.choice(ROOTED)}({amount}, {tag}{color})",
                f"{rng.choice(COLLECTIVES)}({amount}{color})",
                f"read({amount})",
                f"write({amount}, file='shared', collective=True)",
                "region('a')",
                "start()",
                "waitall()",
                *[f"{q} = {o}" for q in ("", "q") for o in [f"isend({peer}, {amount})"]],
                *[f"{q} = {o}" for q in ("", "r") for o in [f"irecv({peer}, {tag})"]],
            ]
        )
        self.write(depth, chosen.removeprefix(" = "))
        if chosen[0] in "qr" and chosen[1] == " " and rng.random() < 0.7:
            if rng.random() < 0.3:
                self.write(depth, f"compute({self.amount()})")
            self.write(depth, f"wait({chosen[0]})")


def random_source(rng: random.Random) -> str:
    """Return a source whose parameters are n = 3 and f = 1.5."""
    writer = Writer(rng)
    writer.write(0, "def program(rank, size, n=3, f=1.5):")
    writer.write(1, "x = rank")
    if rng.random() < 0.95:
        writer.write(1, "y = size")
    else:
        writer.write(1, "if rank > 1:")
        writer.write(2, "y = 2.5")
    writer.body(1)
    writer.body(1)
    if rng.random() < 0.9:
        writer.write(1, "waitall()")
    return "\n".join(writer.lines) + "\n"
