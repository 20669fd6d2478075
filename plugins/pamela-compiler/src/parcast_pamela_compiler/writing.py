"""A model as text, each statement beside the line of the program that it is from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parcast.quantities import Call, Expr, Name, Num
from parcast_pamela_compiler.processes import Charge, Choice, Header, Loop, Node, Process
from parcast_pamela_compiler.source import Source
from parcast_pamela_compiler.spelling import spell, truth

_WIDTH = 100
_MOST_SPELLED = 4  #: so many calls of one equation are written one by one


def model_lines(process: Process, source: Source, names: Mapping[str, str]) -> list[str]:
    """Return the lines of the equation of a whole program."""
    lines = list(_Writer(source, names).block(process)) if process else [("skip", 0)]
    inner = [_beside(f"  {text}", source, line) for text, line in lines]
    return ["L = {", *inner, "}"]


def _beside(text: str, source: Source, line: int) -> str:
    """Return a line with that of the program as a comment."""
    if not line:
        return text
    statement = source.lines[line - 1].partition("#")[0].strip()
    whole = f"{text:<50}  // {line}: {statement}"
    return whole if len(whole) <= _WIDTH else f"{text:<50}  // {line}"


class _Writer:
    def __init__(self, source: Source, names: Mapping[str, str]) -> None:
        self.source, self.names = source, names

    def block(self, process: Process) -> Iterator[tuple[str, int]]:
        """Yield the lines of a sequence, and of which line of the program they are."""
        groups = list(_grouped(process))
        for place, group in enumerate(groups):
            end = " ;" if place < len(groups) - 1 else ""
            lines = list(self.group(group))
            yield from lines[:-1]
            text, line = lines[-1]
            yield text + end, line

    def group(self, group: Sequence[Node]) -> Iterator[tuple[str, int]]:
        first = group[0]
        if isinstance(first, Charge):
            calls = [text for charge in group for text in self.calls(charge)]  # type: ignore[arg-type]
            yield " ; ".join(calls), first.line
        elif isinstance(first, Loop):
            yield from self.nested(self.head(first.header), first.body)
        else:
            condition = spell(first.condition, self.names)
            test = f"bern({condition})" if first.random else truth(first.condition, self.names)
            if not first.otherwise:
                yield from self.nested(f"if ({test})", first.then)
                return
            yield from self.nested(f"if ({test})", first.then or (), braced=True)
            yield from self.nested("else", first.otherwise, braced=True)

    def nested(
        self, head: str, body: Process, *, braced: bool = False
    ) -> Iterator[tuple[str, int]]:
        lines = list(self.block(body)) if body else [("skip", 0)]
        alone = len(list(_grouped(body))) == 1 and (
            not isinstance(body[0], Charge) or (len(body) == 1 and len(self.calls(body[0])) == 1)
        )
        if alone and not braced and not isinstance(body[0], Choice):
            if isinstance(body[0], Charge) and len(head) + len(lines[0][0]) < _WIDTH - 40:
                yield f"{head} {lines[0][0]}", lines[0][1]
                return
            yield head, 0
            yield from ((f"  {text}", line) for text, line in lines)
            return
        yield f"{head} {{", 0
        yield from ((f"  {text}", line) for text, line in lines)
        yield "}", 0

    def calls(self, charge: Charge) -> list[str]:
        arguments = ", ".join(spell(argument, self.names) for argument in charge.arguments)
        call = f"{charge.name}({arguments})"
        if isinstance(charge.count, int) and charge.count <= _MOST_SPELLED:
            return [call] * charge.count
        count = Num(charge.count) if isinstance(charge.count, int) else charge.count
        whole = count if isinstance(count, Num) else Call("ceil", (count,))
        name = self.names["$operation"]
        return [f"seq ({name} = 1, {spell(whole, self.names)}) {call}"]

    def head(self, header: Header) -> str:
        ends = f"{self.expr(header.first)}, {self.expr(header.last)}"
        by = "" if header.by == 1 else f" by {header.by}"
        return f"{header.kind} ({self.expr(Name(header.variable))} = {ends}{by})"

    def expr(self, expr: Expr) -> str:
        return spell(expr, self.names)


def _grouped(process: Process) -> Iterator[list[Node]]:
    """Yield runs of charges of one line, and every other node by itself."""
    run: list[Node] = []
    for node in process:
        if run and (not isinstance(node, Charge) or node.line != run[0].line):  # type: ignore[union-attr]
            yield run
            run = []
        if isinstance(node, Charge):
            run.append(node)
        else:
            yield [node]
    if run:
        yield run
