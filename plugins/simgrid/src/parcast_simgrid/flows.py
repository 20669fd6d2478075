"""``simgrid.flows``: a program on the same machine, played by SimGrid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from parcast import Assumption, Parts, Prediction, Query, UnsupportedError
from parcast.model import WHOLE_NETWORK, Costs, Count, Seconds
from parcast.program import job_times
from parcast_simgrid.playing import MISSING, is_installed, play
from parcast_simgrid.score import check_contention, score

if TYPE_CHECKING:
    from parcast_simgrid.playing import Played

#: Seconds to start SimGrid, and for each operation: most of it threads that take turns.
_STARTED, _EACH = 0.3, 2e-4


@attrs.frozen(kw_only=True)
class Options:
    """What a user may choose."""

    limit: Seconds = 300.0  #: seconds that SimGrid may play
    most_operations: Count = 200_000  #: more are refused


class Flows:
    """Predicts programs by SimGrid's S4U: processes are actors, and messages flows over links."""

    def supports(self, query: Query) -> str | None:
        """Return None, or what is missing."""
        if not is_installed():
            return MISSING
        try:
            check_contention(_costs(query))
        except UnsupportedError as error:
            return str(error)
        return None

    def assumptions(self, query: Query) -> Iterator[Assumption]:  # noqa: ARG002  # the protocol's
        """Yield what SimGrid is set to."""
        yield Assumption("SimGrid shares links max-min fairly, without factors of its own")

    def cost(self, query: Query) -> float | None:
        """Return the seconds that playing takes."""
        from parcast.program.matching import matched_program

        return _STARTED + _EACH * matched_program(query, pools=True).unrolled.count()

    def solve(self, query: Query) -> Prediction:
        """Return the prediction."""
        played, count = played_by_simgrid(query)
        parts = sum(played.parts, Parts()) * (1 / query.p)
        details: dict[str, Any] = {"operations": count}
        if jobs := job_times(query, played.ends, played.starts):
            details["jobs"] = jobs
        return Prediction(
            time=parts.total,
            parts=parts,
            binding=parts.largest,
            details=details,
        )


def played_by_simgrid(query: Query) -> tuple[Played, int]:
    """Return what became of the query's program, and how many operations it has.

    Raises
    ------
    UnsupportedError
        If it has too many operations, or those that SimGrid does not play.
    """
    from parcast.program.matching import matched_program

    options: Options = query.options or Options()
    unrolled = matched_program(query, pools=True).unrolled
    count = unrolled.count()
    if count > options.most_operations:
        raise UnsupportedError(
            f"{count:,} operations are more than the limit of {options.most_operations:,}; use a "
            "smaller p, or --set simgrid.flows.most_operations to more"
        )
    return play(score(unrolled, _costs(query)), options.limit), count


def _costs(query: Query) -> Costs:
    from parcast.program.matching import matched_program

    needs = matched_program(query, pools=True).unrolled.needs()
    return Costs.of(query, needs, WHOLE_NETWORK)
