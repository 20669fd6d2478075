"""What the plain evaluators of a program's cost table answer."""

from __future__ import annotations

import attrs

from parcast.model.query import Parts


@attrs.frozen
class Reference:
    """The times of one run of a program; seconds, as floats or as exact fractions."""

    time: float  #: from the latest ``start()`` to the latest end
    start: float  #: the latest ``start()`` of any rank, 0 without one
    ends: tuple[float, ...]  #: when each rank ended
    parts: tuple[Parts, ...]  #: of each rank, covering exactly ``start`` to the latest end

    @property
    def mean_parts(self) -> Parts:
        """The mean of the parts over the ranks."""
        columns = zip(*(parts.values() for parts in self.parts), strict=True)
        return Parts(*(sum(column) / len(self.parts) for column in columns))
