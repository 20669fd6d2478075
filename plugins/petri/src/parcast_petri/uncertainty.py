"""What a program takes under each way of sharing: the spread is an uncertainty of the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import attrs

from parcast.errors import UnsupportedError
from parcast.model import Query
from parcast_petri import choose
from parcast_petri.options import (
    Memory,
    Options,
    Sends,
    Servers,
    Sharing,
    Startup,
    options_of,
    sampled_options,
)
from parcast_petri.solvers.explicit import Explicit
from parcast_petri.solvers.mean import Mean


@attrs.frozen
class Variant:
    """What a program takes when one word of the model is another than was asked."""

    option: str
    word: str
    asked: bool  #: whether it is the word that was asked
    time: float | None  #: seconds
    reason: str = ""  #: why there is none


_WORDS = {
    "sharing": get_args(Sharing),
    "startup": get_args(Startup),
    "servers": get_args(Servers),
    "sends": get_args(Sends),
    "memory": get_args(Memory),
}


def variants(query: Query, runs: int) -> Iterator[Variant]:
    """Yield the answer under every word of every option, the others as they are asked.

    Where loads or traffic are random each word is answered by `petri.explicit` in so many runs
    with the same random numbers.
    """
    options = options_of(query)
    outcomes: dict[Options, tuple[float | None, str]] = {}
    for option, words in _WORDS.items():
        for word in words:
            changed = attrs.evolve(options, **{option: word})
            if changed not in outcomes:
                outcomes[changed] = _solved(attrs.evolve(query, options=changed), runs)
            yield Variant(option, word, changed == options, *outcomes[changed])


def _solved(query: Query, runs: int) -> tuple[float | None, str]:
    solver: Any = Mean()
    if choose(query) == "petri.explicit":
        solver = Explicit()
        query = query.with_options(sampled_options(query.options, tolerance=1e-9, most=runs))
    try:
        reason = solver.supports(query)
        return (None, reason) if reason else (solver.solve(query).time, "")
    except UnsupportedError as error:
        return None, str(error)
