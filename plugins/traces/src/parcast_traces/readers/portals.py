"""Operations of Portals 4 in a schedule, as LogGOPSim2 has them, told by sends and receives.

Model: LogGOPSim2, ``README_GOAL`` and ``src/simulator/modules/portals4/p4.cpp``. ``append`` posts a
buffer and is over then; messages of ``put`` that it takes count on its counter, and a ``put`` that
left on its own. A triggered operation, and ``test``, begin once a counter has so many.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence

import attrs

from parcast.errors import FileError, UnsupportedError, shorten
from parcast_traces.readers.schedules import ANY, Step

#: A source or a tag that says any, as text and as the 32 bits of -1.
ANYS = frozenset({"-1", "4294967295"})

_VERBS = frozenset({"append", "put", "get", "tappend", "tput", "tget", "test", "calcgem5"})
_LABEL = re.compile(r"(?:([a-zA-Z]\w*)\s*:\s*)?([a-z0-9]+)\s+(?:\d+\s+(?=\d+b))?(\d.*)")
_NUMBERED = frozenset({"to", "from", "allowed", "when", "reaches", "for", "ct", "tag", "cpu", "nic",
                       "hh", "ph", "ch", "mem", "arg1", "arg2", "arg3", "arg4"})  # fmt: skip
_HANDLERS = ("hh", "ph", "ch")
_NUMBER, _SIZE = re.compile(r"-1|\d{1,20}"), re.compile(r"(\d{1,20})b?")


@attrs.frozen(kw_only=True)
class Operation:
    """An operation of Portals; peers and tags may be `ANY`."""

    verb: str
    where: str
    size: int = 0
    peer: int = ANY
    tag: int = 0
    cpu: int = 0
    nic: int = 0
    counter: int | None = None  #: that it counts on
    trigger: int | None = None  #: that it waits for
    threshold: int = 0
    once: bool = False  #: of a buffer: it takes one message
    overflow: bool = False  #: of a buffer: it takes what no other does
    handled: bool = False  #: of a buffer: code on the card handles its messages

    @property
    def posts(self) -> bool:
        """Whether it posts a buffer."""
        return self.verb.endswith("append")

    def step(self) -> Step:
        """Return what the rank itself does."""
        if self.verb.endswith("put"):
            return Step("send", self.size, self.peer, self.tag, self.cpu, self.nic)
        return Step("calc", 0, cpu=self.cpu)


def parsed(text: str, where: str) -> tuple[str | None, Operation] | None:
    """Return the label and the operation of a line, or None if it has none of Portals.

    Raises
    ------
    FileError
        If the operation is not written as LogGOPSim2 reads it.
    """
    match = _LABEL.fullmatch(text)
    if match is None or match[2] not in _VERBS:
        return None
    label, verb, remainder = match.groups()
    words = deque(remainder.split())
    amount = words.popleft()
    values: dict[str, int] = {}
    flags = set[str]()
    while words:
        word = words.popleft()
        if word in ("use_once", "priority_list", "overflow_list"):
            flags.add(word)
        elif word == "to" and words and words[0].endswith("_list"):
            continue
        elif word in _NUMBERED and words and _NUMBER.fullmatch(words[0]):
            value = words.popleft()
            values[word] = ANY if value in ANYS else int(value)
        else:
            raise FileError(f"{where}: {shorten(text)!r}: no {verb} has {shorten(word)!r} there")
    size = _SIZE.fullmatch(amount)
    triggered = "for" in values if verb == "test" else {"when", "reaches"} <= values.keys()
    if not size or triggered != (verb == "test" or verb.startswith("t")):
        raise FileError(f"{where}: {shorten(text)!r}: {verb} lacks its size or its counter")
    return label, _operation(verb, where, int(size[1]), values, flags)


def _operation(
    verb: str, where: str, amount: int, values: Mapping[str, int], flags: set[str]
) -> Operation:
    counter = values.get("ct", ANY)
    test = verb == "test"
    return Operation(
        verb=verb, where=where, size=0 if test else amount, tag=values.get("tag", 0),
        peer=values.get("allowed", values.get("to", values.get("from", ANY))),
        cpu=max(values.get("cpu", 0), 0), nic=max(values.get("nic", 0), 0),
        counter=None if counter == ANY else counter,
        trigger=amount if test else values.get("when"),
        threshold=values.get("for" if test else "reaches", 0),
        once="use_once" in flags, overflow="overflow_list" in flags,
        handled=any(values.get(name, ANY) != ANY for name in _HANDLERS),
    )  # fmt: skip


#: The operations of Portals of a rank, by the numbers of their steps.
Operations = Mapping[int, Operation]


def add_messages(
    ranks: Sequence[list[Step]], operations: Mapping[int, Operations]
) -> Iterator[str]:
    """Add what buffers receive and what triggered operations wait for; yield notes.

    Raises
    ------
    UnsupportedError
        If an operation is none that sends and receives can tell, nobody takes a message, or a
        counter never comes to a number.
    """
    for own in operations.values():
        for operation in own.values():
            if operation.verb in ("get", "tget", "calcgem5"):
                raise UnsupportedError(f"{operation.where}: {operation.verb} is not read: sends "
                                       "and receives do not tell what it does")  # fmt: skip
    taken = _taken(operations, len(ranks))
    early = 0
    for rank, own in operations.items():
        events: dict[int, list[int]] = defaultdict(list)  #: steps, by the counter they count on
        for number, operation in own.items():
            counted = [number] if operation.verb.endswith("put") else []
            for peer in taken.get((rank, number), ()):
                receive = Step("recv", operation.size, peer, operation.tag, operation.cpu,
                               operation.nic, begun=[number])  # fmt: skip
                counted.append(len(ranks[rank]))
                ranks[rank].append(receive)
            if operation.counter is not None:
                events[operation.counter] += counted
        early += sum(_trigger(ranks[rank], number, operation, events) for number, operation
                     in own.items() if operation.trigger is not None)  # fmt: skip
    if early:
        yield (f"{early:,} operations wait for some of what counts on a counter: the first of the "
               "file, whichever came first")  # fmt: skip
    if any(operation.handled for own in operations.values() for operation in own.values()):
        yield "handlers on the card take no time and send nothing: a schedule does not say what"


def _trigger(
    steps: list[Step], number: int, operation: Operation, events: Mapping[int, list[int]]
) -> bool:
    """Let a step wait for a counter; return whether more count on it."""
    assert operation.trigger is not None
    counting = [event for event in events.get(operation.trigger, ()) if event != number]
    if len(counting) < operation.threshold:
        raise UnsupportedError(
            f"{operation.where}: counter {operation.trigger} comes to {len(counting)}, and never "
            f"to {operation.threshold}"
        )
    steps[number].ended += counting[: operation.threshold]
    return len(counting) > operation.threshold


def _taken(
    operations: Mapping[int, Operations], size: int
) -> Mapping[tuple[int, int], Sequence[int]]:
    """Return the sources of the messages that each buffer takes, by its rank and number."""
    sent: list[dict[tuple[int, int], list[Operation]]] = [defaultdict(list) for _ in range(size)]
    for rank, own in operations.items():
        for operation in own.values():
            if operation.verb.endswith("put"):
                sent[operation.peer][rank, operation.tag].append(operation)
    taken: dict[tuple[int, int], list[int]] = {}
    for target, messages in enumerate(sent):
        own = operations.get(target, {})
        buffers = [(number, own[number]) for number in own if own[number].posts]
        for number, buffer in sorted(buffers, key=_precedence):
            sources = list(_sources(buffer, messages))
            wild = buffer.once and buffer.peer == ANY
            taken[target, number] = [ANY] * len(sources) if wild else sources
        for (source, tag), left in messages.items():
            if left:
                raise UnsupportedError(f"{left[0].where}: no buffer of rank {target} takes this "
                                       f"message of rank {source}, tag {tag}")  # fmt: skip
    return taken


def _precedence(entry: tuple[int, Operation]) -> tuple[bool, bool]:
    """Let buffers that name their message take it first, and those of the overflow list last."""
    _, buffer = entry
    return buffer.overflow, ANY in (buffer.peer, buffer.tag)


def _sources(
    buffer: Operation, messages: Mapping[tuple[int, int], list[Operation]]
) -> Iterator[int]:
    """Take the messages of a buffer, and yield who sent them."""
    named = (buffer.peer, buffer.tag)
    for key in messages if ANY in named else [named] if named in messages else []:
        source, tag = key
        while messages[key] and buffer.peer in (ANY, source) and buffer.tag in (ANY, tag):
            messages[key].pop()
            yield source
            if buffer.once:
                return
