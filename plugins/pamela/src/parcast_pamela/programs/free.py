"""The form ``free``: what no run of a program can be faster than, as a model.

Of three things each is a lower bound of a run, so that their maximum is one:

- what a process does by itself: computing, its own time for messages, its accesses;
- what all processes have done at least, whatever the others do: a computation that is the same
  for all, and a message that all exchange at one place, which takes its time on the way for each
  of them (by induction over the places of the program);
- what passes a port, the bus or a disk, which serve one at a time or are shared.

All but ports and bus, where messages may be on their way later, are taken between every two
collectives that nobody leaves before all have come: all processes leave such a one no earlier
than the last of them came, and no earlier than the rounds of its algorithm take after the first
of them came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from parcast.model import IN_NETWORK
from parcast.program import For, If, Op, Statement
from parcast.program.source import RECEIVES, SENDS
from parcast.quantities import Call, Expr, Name, Num, names_in
from parcast_pamela.programs.borders import Border, shift_of
from parcast_pamela.programs.charges import ZERO, Charges, is_collective, plus, times
from parcast_pamela.programs.splitting import Cut, Piece, Repeat, Segment
from parcast_pamela.programs.words import delay, expr_of, mentions_rank, seq, use
from parcast_pamela_compiler.spelling import spell, truth

#: What an operation adds to a process: statements of the language
Says = Callable[[Op], Sequence[str]]


@attrs.frozen
class Free:
    """Writes a cut program in the language."""

    charges: Charges
    names: Mapping[str, str]  #: of parameters and machine numbers in the model
    aligned: bool  #: every message of a ``sendrecv`` is received at its own place
    to_itself: bool  #: some message may be one of a process to itself

    def text(self, cut: Cut) -> Iterator[str]:
        """Yield the lines of the equations."""
        arms = [self._body(cut.pieces, "    ")]
        everything = [statement for piece in cut.pieces for statement in _statements(piece)]
        resources, shared = self._shared(everything)
        yield from resources
        for expr in cut.assumed:
            yield f"assume {truth(expr, self.names)}"
        whole = (
            arms[0] if not shared else "\n  || ".join(f"{{ {arm} }}" for arm in [*arms, *shared])
        )
        yield from ["root program_", "program_ =", f"    {whole}"]

    def _body(self, pieces: Sequence[Piece], indent: str) -> str:
        lines = [self._piece(piece, indent) for piece in pieces]
        return f" ;\n{indent}".join(line for line in lines if line) or "skip"

    def _piece(self, piece: Piece, indent: str) -> str:
        if isinstance(piece, Repeat):
            inner = self._body(piece.pieces, indent + "  ")
            return f"{self._seq(piece.variable, piece.start, piece.stop)} {{ {inner} }}"
        return self._segment(piece, indent)

    def _segment(self, piece: Segment, indent: str) -> str:
        body: tuple[Statement, ...] = piece.body if piece.end is None else (*piece.body, piece.end)
        alone = self._statements(body, self._own, all_alike=False)
        common = self._statements(body, self._common, all_alike=True)
        arms = [self._each(alone)] if mentions_rank(alone) else []
        arms += [" ; ".join(common)] * bool(common)
        if accessed := self._statements(body, self._accessed, all_alike=False):
            arms.append(self._each(accessed))
        if len(arms) < 2:
            return "".join(arms)
        return "{ " + f"\n{indent}|| ".join(f"{{ {arm} }}" for arm in arms) + " }"

    def _each(self, lines: Sequence[str]) -> str:
        """Return what every process does, all beside each other."""
        return f"par (rank = 0, {self.spell(Name('size'))} - 1) {{ {' ; '.join(lines)} }}"

    def _statements(self, body: Sequence[Statement], says: Says, *, all_alike: bool) -> list[str]:
        """Return what a body adds; with ``all_alike`` only what every process does."""
        lines: list[str] = []
        for statement in body:
            match statement:
                case Op():
                    lines += says(statement)
                case For(variable=variable, start=start, stop=stop, body=inner):
                    if all_alike and "rank" in names_in(start) | names_in(stop):
                        continue
                    if processes := self._statements(inner, says, all_alike=all_alike):
                        lines.append(
                            f"{self._seq(variable, start, stop)} {{ {' ; '.join(processes)} }}"
                        )
                case If(test=test, then=then, otherwise=otherwise):
                    if all_alike and "rank" in names_in(test):
                        continue
                    lines += self._choice(test, then, otherwise, says, all_alike=all_alike)
        return lines

    def _choice(
        self,
        test: Expr,
        then: Sequence[Statement],
        otherwise: Sequence[Statement],
        says: Says,
        *,
        all_alike: bool,
    ) -> list[str]:
        arms = [self._statements(arm, says, all_alike=all_alike) for arm in (then, otherwise)]
        if not any(arms):
            return []
        first, second = ("{ " + " ; ".join(arm or ["skip"]) + " }" for arm in arms)
        tail = f" else {second}" if arms[1] else ""
        return [f"if ({truth(test, self.names)}) {first}{tail}"]

    def _own(self, op: Op) -> list[str]:
        """Return what one process does by itself."""
        charges, n = self.charges, op.arguments.get("bytes", ZERO)
        assert not isinstance(n, str | bool | None)
        if op.name in {"compute", "elapse"}:
            return self._delay(charges.compute(op))
        if op.name in {"read", "write"}:
            if op.name == "read" and charges.buffered(op):  # begins before a late one joins
                return []
            return self._delay(charges.piece(op))
        if is_collective(op):
            seconds = [times(count, charges.sending(size)) for count, size in charges.rounds(op)]
            return self._delay(plus(charges.copied(op), *seconds, charges.added(op)))
        if op.name in SENDS:
            return self._delay(charges.sending(n))
        if op.name in RECEIVES | {"wait", "waitall"}:
            return self._delay(charges.receiving() if op.name == "recv" else charges.waiting())
        return []

    def _common(self, op: Op) -> list[str]:
        """Return what all processes do at least at an operation that all of them have."""
        charges = self.charges
        varying = {"dst", "src", "tag"}  # what may differ between processes
        if any("rank" in names_in(expr) for name, expr in _numbers(op) if name not in varying):
            return []
        if is_collective(op):
            whole = [times(count, self._exchange(size)) for count, size in charges.rounds(op)]
            return self._delay(plus(charges.copied(op), *whole, charges.added(op)))
        if op.name == "sendrecv" and self.aligned:
            n = op.arguments["bytes"]
            assert not isinstance(n, str | bool | None)
            return self._delay(self._exchange(n))
        return self._own(op)

    def _exchange(self, n: Expr) -> Expr:
        """Return how long a message takes that all send and receive."""
        charges = self.charges
        return plus(charges.sending(n), charges.wire(n), charges.receiving())

    def _shared(self, body: Sequence[Statement]) -> tuple[list[str], list[str]]:
        """Return the resources that all share, and the processes that use them."""
        last = f"{self.spell(Name('size'))} - 1"
        uses: dict[str, Says] = {}
        resources = []
        if self.charges.costs.contention == "bus":
            uses["bus"], resources = self._sent("bus"), ["resource bus"]
        elif self.charges.ports:
            resources = [f"resource out[0..{last}], into[0..{last}]"]
            uses["out"], uses["into"] = self._sent("out[rank]"), self._into
        processes = {
            name: lines
            for name, says in uses.items()
            if (lines := self._statements(body, says, all_alike=False))
        }
        shared = [self._each(lines) for lines in processes.values()]
        for border in self.charges.borders:
            if lines := self._statements(body, self._crossing(border), all_alike=True):
                resources.append(f"resource {border.name}")
                shared.append(" ; ".join(lines))
        if any(self._statements(body, self._accessed, all_alike=False)):
            resources += [f"resource disk[0..{self.spell(Name('$disks'))} - 1]"]
        return resources, shared

    def _sent(self, resource: str) -> Says:
        def says(op: Op) -> list[str]:
            if is_collective(op):
                parts = [times(c, self.charges.port(n)) for c, n in self.charges.rounds(op)]
                return self._use(resource, plus(*parts))
            return self._message(op, resource) if op.name in SENDS else []

        return says

    def _into(self, op: Op) -> list[str]:
        if is_collective(op):
            return list(self._sent("into[rank]")(op))
        if op.name not in SENDS:
            return []
        return self._message(op, f"into[{self.spell(expr_of(op, 'dst'))}]")

    def _message(self, op: Op, resource: str) -> list[str]:
        used = self._use(resource, self.charges.port(expr_of(op, "bytes")))
        if used and self.to_itself:
            to_another = Call("!=", (expr_of(op, "dst"), Name("rank")))
            return [f"if ({truth(to_another, self.names)}) {{ {used[0]} }}"]
        return used

    def _crossing(self, border: Border) -> Says:
        """Return what gives the use of a border by operations whose messages are regular."""

        def says(op: Op) -> list[str]:
            n = op.arguments.get("bytes", ZERO)
            if op.name in SENDS and isinstance(n, Expr) and "rank" not in names_in(n):
                by = shift_of(expr_of(op, "dst"))
                if by is None or "rank" in names_in(by):
                    return []
                return self._use(
                    border.name, times(border.shifted(by), self.charges.crossing(border, n))
                )
            if not is_collective(op):
                return []
            lines = []
            for count, size in self.charges.rounds(op):
                if "rank" not in names_in(size):
                    lines += self._rounds(border, op, count, self.charges.crossing(border, size))
            return lines

        return says

    def _rounds(self, border: Border, op: Op, count: Expr, seconds: Expr) -> list[str]:
        """Return the use of a border by rounds, each an exchange of so many seconds."""
        algorithm = self.charges.algorithms()[op.name]
        if algorithm == "pairwise":
            return self._use(border.name, times(border.exchanged(), seconds))
        if algorithm in {"ring", IN_NETWORK}:
            return self._use(border.name, times(count, border.shifted(Num(1)), seconds))
        if op.name == "allgather":  # its rounds differ in size
            return []
        by = Call("**", (Num(2), Name("round_")))
        used = self._use(border.name, times(border.shifted(by), seconds))
        return [f"seq (round_ = 0, {self.spell(count)} - 1) {{ {used[0]} }}"] if used else []

    def _accessed(self, op: Op) -> list[str]:
        if op.name not in {"read", "write"}:
            return []
        disks = Name("$disks")
        if self.charges.striped(op):  # every disk has the same pieces
            return self._use("disk[0]", self.charges.piece(op))
        disk = self.spell(Call("%", (Name("rank"), disks)))
        return self._use(f"disk[{disk}]", self.charges.piece(op))

    def _delay(self, seconds: Expr) -> list[str]:
        return [text] if (text := delay(seconds, self.names)) else []

    def _use(self, resource: str, seconds: Expr) -> list[str]:
        return [text] if (text := use(resource, seconds, self.names)) else []

    def _seq(self, variable: str, start: Expr, stop: Expr) -> str:
        return seq(variable, start, stop, self.names)

    def spell(self, expr: Expr) -> str:
        """Return an expression in the language."""
        return spell(expr, self.names)


def _numbers(op: Op) -> Iterator[tuple[str, Expr]]:
    for name, value in op.arguments.items():
        if value is not None and not isinstance(value, str | bool):
            yield name, value


def _statements(piece: Piece) -> Iterator[Statement]:
    """Yield all statements of a piece, its loop around them."""
    if isinstance(piece, Repeat):
        inner = tuple(statement for part in piece.pieces for statement in _statements(part))
        yield For(piece.variable, piece.start, piece.stop, Num(1), inner)
        return
    yield from piece.body
    if piece.end is not None:
        yield piece.end
