"""The form ``barrier``: an estimate in which all processes take each operation together.

Every operation of the text is one of all processes that come to it, and ends when the last of
them is through, its message delivered. Without contention no run takes longer, where the form
exists: no process may wait for a message of a later operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import attrs

from parcast.errors import UnsupportedError
from parcast.program import For, If, Op, Statement
from parcast.program.source import RECEIVES, SENDS, VECTOR_COLLECTIVES
from parcast.quantities import Call, Expr, Name, Num, names_in
from parcast_pamela.programs.charges import ROUNDS, ZERO, Charges, is_collective, plus, times
from parcast_pamela.programs.splitting import with_barriers
from parcast_pamela.programs.words import delay, expr_of, mentions_rank, seq, use
from parcast_pamela_compiler.spelling import spell, truth

_OTHERS = Call("-", (Name("size"), Num(1)))
_ROOTED = ("binomial", "linear")

#: Algorithms along a tree, a star or a chain of which a bound is known.
_ONE_WAY = frozenset(
    {
        *((op, name) for op in ("bcast", "reduce", "gather", "scatter") for name in _ROOTED),
        *(("scan", "linear"), ("allreduce", "tree"), ("barrier", "tree")),
    }
)


#: Those of them that add up what they receive.
_ADDING = ("reduce", "scan", "allreduce")


@attrs.frozen
class Barrier:
    """Writes a program in the language, operation by operation."""

    charges: Charges
    names: Mapping[str, str]  #: of parameters and machine numbers in the model
    where: str

    def text(self, body: Sequence[Statement]) -> Iterator[str]:
        """Yield the lines of the equations.

        Raises
        ------
        UnsupportedError
            If processes have loops of their own lengths, or groups by color.
        """
        last = f"{self._spell(Name('size'))} - 1"
        lines = list(self._statements(tuple(with_barriers(body)), ()))
        whole = "\n".join(lines)
        if "use(bus" in whole:
            yield "resource bus"
        if "use(out" in whole:
            yield f"resource out[0..{last}], into[0..{last}]"
        if "use(disk" in whole:
            yield f"resource disk[0..{self._spell(Name('$disks'))} - 1]"
        yield "root program_"
        yield "program_ ="
        yield "    " + (" ;\n    ".join(lines) or "skip")

    def _statements(self, body: Sequence[Statement], guards: tuple[str, ...]) -> Iterator[str]:
        """Yield a body's processes; ``guards`` are conditions on the rank around it."""
        for statement in body:
            match statement:
                case Op():
                    yield from self._together(statement, guards)
                case For(variable=variable, start=start, stop=stop, body=inner):
                    if "rank" in names_in(start) | names_in(stop):
                        raise UnsupportedError(
                            f"{self.where}:{statement.line}: each process has its own number of "
                            "iterations, so there is no operation that all take together; use "
                            "pamela.form=free"
                        )
                    if processes := list(self._statements(inner, guards)):
                        loop = seq(variable, start, stop, self.names)
                        yield f"{loop} {{ {' ; '.join(processes)} }}"
                case If():
                    yield from self._choice(statement, guards)

    def _choice(self, branch: If, guards: tuple[str, ...]) -> Iterator[str]:
        test = truth(branch.test, self.names)
        if "rank" in names_in(branch.test):
            yield from self._statements(branch.then, (*guards, test))
            yield from self._statements(branch.otherwise, (*guards, f"not ({test})"))
            return
        arms = [list(self._statements(arm, guards)) for arm in (branch.then, branch.otherwise)]
        if any(arms):
            first, second = ("{ " + " ; ".join(arm or ["skip"]) + " }" for arm in arms)
            yield f"if ({test}) {first}" + (f" else {second}" if arms[1] else "")

    def _together(self, op: Op, guards: tuple[str, ...]) -> Iterator[str]:
        """Yield an operation of all processes that come to it."""
        if not (process := self._process(op)):
            return
        if guards:
            test = guards[0] if len(guards) == 1 else " and ".join(f"({guard})" for guard in guards)
            process = f"if ({test}) {{ {process} }}"
        if mentions_rank([process]) or "use(" in process:
            process = f"par (rank = 0, {self._spell(Name('size'))} - 1) {{ {process} }}"
        yield process

    def _process(self, op: Op) -> str:
        charges = self.charges
        if op.name in {"compute", "elapse"}:
            return self._all(delay(charges.compute(op), self.names))
        if op.name in {"read", "write"}:
            return self._access(op)
        if is_collective(op):
            return self._collective(op)
        if op.name == "sendrecv":
            return self._all(self._message(op), delay(charges.receiving(), self.names))
        if op.name in SENDS:
            return self._message(op)
        if op.name in RECEIVES | {"wait", "waitall"}:
            seconds = charges.receiving() if op.name == "recv" else charges.waiting()
            return self._all(delay(seconds, self.names))
        return ""

    def _message(self, op: Op) -> str:
        return self._sent(expr_of(op, "bytes"), self._spell(expr_of(op, "dst")))

    def _sent(self, n: Expr, to: str) -> str:
        """Return a message from a process until it has arrived."""
        charges, names = self.charges, self.names
        port, startup = charges.port(n), delay(charges.startup(n), names)
        busy = delay(charges.sending(n), names)
        if charges.costs.contention == "none" or port == ZERO:
            return self._all(delay(plus(charges.sending(n), charges.wire(n)), names))
        if charges.costs.contention == "bus":
            return self._all(busy, use("bus", port, names), startup)
        ports = f"{use('out[rank]', port, names)} || {use(f'into[{to}]', port, names)}"
        if charges.costs.contention == "fair" and (alone := charges.transfer(n)) != port:
            ports += f" || {delay(alone, names)}"
        return self._all(busy, startup, f"{{ {ports} }}")

    def _access(self, op: Op) -> str:
        piece = self.charges.piece(op)
        if self.charges.striped(op):  # every disk has the same pieces
            return self._all(use("disk[0]", piece, self.names))
        disk = self._spell(Call("%", (Name("rank"), Name("$disks"))))
        return self._all(use(f"disk[{disk}]", piece, self.names))

    def _collective(self, op: Op) -> str:
        if op.arguments.get("color") is not None:
            raise UnsupportedError(
                f"{self.where}:{op.line}: the size of a group by color is not known to the model; "
                "use pamela.form=free"
            )
        if op.name in VECTOR_COLLECTIVES:
            raise UnsupportedError(
                f"{self.where}:{op.line}: each process may bring bytes of its own to {op.name}, "
                "which the model takes as one number; use pamela.form=free"
            )
        return self._all(
            delay(self.charges.copied(op), self.names),
            self._messages(op),
            delay(self.charges.added(op), self.names),
        )

    def _messages(self, op: Op) -> str:
        rounds = list(self.charges.rounds(op))
        receiving = delay(self.charges.receiving(), self.names)
        if not rounds:
            return self._all(delay(self._tree(op), self.names))
        ((count, n),) = rounds
        to = self._spell(Call("%", (Call("+", (Name("rank"), Num(1))), Name("size"))))
        once = self._all(self._sent(n, to), receiving)
        if "use(" not in once:
            whole = plus(self.charges.sending(n), self.charges.wire(n), self.charges.receiving())
            return self._all(delay(times(count, whole), self.names))
        return f"seq (round_ = 1, {self._spell(count)}) {{ {once} }}" if once else ""

    def _tree(self, op: Op) -> Expr:
        """Return how long a collective along a tree, a star or a chain takes at most."""
        charges = self.charges
        n = ZERO if op.name == "barrier" else expr_of(op, "bytes")
        algorithm = charges.algorithms()[op.name]
        if (op.name, algorithm) not in _ONE_WAY:
            raise UnsupportedError(
                f"{self.where}:{op.line}: the model has no formula for {op.name} by {algorithm!r}; "
                "use pamela.form=free, or name another algorithm in network.collectives"
            )
        once = plus(charges.sending(n), charges.wire(n), charges.receiving())
        adding = times(n, charges.number("add")) if op.name in _ADDING else ZERO
        if algorithm == "linear":
            return times(_OTHERS, plus(once, adding))
        if algorithm == "tree":
            return times(ROUNDS, plus(times(Num(2), once), adding))
        if op.name in {"gather", "scatter"}:
            empty = plus(charges.sending(ZERO), charges.wire(ZERO), charges.receiving())
            share = plus(times(n, charges.number("overhead_per_byte")), charges.transfer(n))
            return plus(times(ROUNDS, empty), times(_OTHERS, share))
        return times(ROUNDS, plus(once, adding))

    def _all(self, *processes: str) -> str:
        return " ; ".join(filter(None, processes))

    def _spell(self, expr: Expr) -> str:
        return spell(expr, self.names)
