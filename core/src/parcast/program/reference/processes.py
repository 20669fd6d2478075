"""What the sweep over processes keeps: processes, their messages, receives and mailboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from parcast.program.source.operations import ANY
from parcast.program.unroll.blocks import Operation


@attrs.frozen
class Step:
    """An operation that a process has done, tasks that it took among them."""

    order: int  #: its place in the process's own list; of a task, that of the pool
    operation: Operation
    seconds: float  #: from its beginning to its end
    source: int  #: who sent what a receive took


@attrs.define(eq=False)
class Message:
    """A message; ``flight`` (R) and ``arrival`` (A) are None until they are known."""

    source: int
    order: int
    target: int
    bytes: float
    eager: bool  #: its sender does not wait for it
    early: bool  #: it leaves before its receive is posted
    ready: float
    asker: int  #: the process that asks for what the message passes: its source, or who fetches
    flight: float | None = None
    arrival: float | None = None

    def eligible(self) -> float | None:
        """Return when a wildcard may take it, if that is known."""
        return self.arrival if self.early else self.ready


@attrs.define(eq=False)
class Receive:
    """A receive that was posted, and the message that it takes once that is known."""

    source: int
    order: int
    posted: float
    message: Message | None = None


@attrs.define(eq=False)
class Mailbox:
    """The messages and receives of one destination and tag that have no partner yet."""

    messages: list[Message] = attrs.field(factory=list)
    receives: list[Receive] = attrs.field(factory=list)


@attrs.define(eq=False)
class Process:
    """A process, stopped where it waits or ended."""

    operations: list[tuple[int, Operation]]  #: with the place that each has in the program
    position: int = 0
    clock: float = 0
    entered: bool = False  #: it has started the operation at its place
    blocked: bool = False  #: until what it asked for is served
    awaited: list[Message | Receive] = attrs.field(factory=list)
    #: how it pays for what it awaits: by ``overhead`` after the wait; for each message as it
    #: takes them, in the order of their arrivals; or for what a sendrecv receives, meanwhile
    pays: Literal["afterwards", "taking", "meanwhile"] = "afterwards"
    overhead: float = 0  #: its own time after the wait
    requests: dict[int, Message | Receive] = attrs.field(factory=dict)
    spent: list[tuple[str, float, float]] = attrs.field(factory=list)  #: part, from, to
    since: float = 0  #: when the operation at its place began
    steps: list[Step] = attrs.field(factory=list)

    def insert(self, order: int, operations: Sequence[Operation]) -> None:
        """Let these come next, all of one place in the program."""
        after = self.position + 1
        self.operations[after:after] = [(order, operation) for operation in operations]

    def note(self) -> None:
        """Write down the operation at its place, which has ended."""
        first = self.awaited[0] if self.awaited else None
        message = first.message if isinstance(first, Receive) else None
        order, operation = self.operations[self.position]
        source = ANY if message is None else message.source
        self.steps.append(Step(order, operation, self.clock - self.since, source))

    def wait(self, until: float, flight: float) -> None:
        """Wait for a message that leaves at ``flight`` and has arrived at ``until``."""
        until = max(self.clock, until)
        self.spend("synchronization", min(max(self.clock, flight), until))
        self.spend("communication", until)

    def spend(self, part: str, until: float) -> None:
        """Charge the time until then to a part."""
        self.spent.append((part, self.clock, until))
        self.clock = until


def is_eager(request: Message | Receive) -> bool:
    """Return whether a request is a message that nobody waits for."""
    return isinstance(request, Message) and request.eager
