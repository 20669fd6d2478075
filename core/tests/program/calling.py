"""What a program does, found by really calling it with recording stubs, rank by rank.

Only tests do this: a prediction never executes a program's source.
"""

import inspect
import math

from parcast.program import ANY, OPERATIONS, Operation, Site, Unrolled
from parcast.program.source.operations import OFFLOADED, REQUESTS, REQUIRED, Argument
from parcast.quantities.expressions import FUNCTIONS

SITE = Site("called")


class AnySource(int):
    """ANY as a program writes it: equal to a number, and yet no number that it calculates."""


def call(source: str, size: int, **parameters) -> Unrolled:
    """Return the operations of every rank, as Python's own execution of ``source`` gives them."""
    lists = [call_rank(source, rank, size, **parameters) for rank in range(size)]
    return Unrolled.of_ranks(lists, (SITE,), "called.py")


def call_rank(source: str, rank: int, size: int, **parameters) -> list[Operation]:
    listed: list[Operation] = []
    open_requests: list[int] = []
    names = {name: function for name, (_, _, function) in FUNCTIONS.items()}
    names |= {name: _stub(name, listed, open_requests) for name in OPERATIONS}
    names |= {"ANY": AnySource(ANY), "math": math}
    exec(compile(source, "called.py", "exec"), names)
    names["program"](rank, size, **parameters)
    assert not open_requests, "requests never waited for"
    return listed


def _stub(name: str, listed: list[Operation], open_requests: list[int]):
    signature = inspect.Signature([_parameter(argument) for argument in OPERATIONS[name]])

    def stub(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments, requests = dict(bound.arguments), ()
        if arguments.get("on") == "cpu":
            arguments = {word: arguments[word] for word in arguments.keys() - set(OFFLOADED)}
        if name == "wait":
            requests = (arguments.pop("request"),)
            open_requests.remove(requests[0])
        if name == "waitall":
            requests = tuple(open_requests)
            open_requests.clear()
        listed.append(Operation(0, name, arguments, requests))
        if name in REQUESTS:
            open_requests.append(len(listed) - 1)
            return len(listed) - 1
        return None

    return stub


def _parameter(argument: Argument) -> inspect.Parameter:
    default = inspect.Parameter.empty if argument.default is REQUIRED else argument.default
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(argument.name, kind, default=default)
