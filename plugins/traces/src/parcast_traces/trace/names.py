"""What the events of a run refer to by number: communicators, channels and call sites."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence

from parcast.errors import FileError
from parcast_traces.errors import TraceError
from parcast_traces.trace.columns import NONE, Channels
from parcast_traces.trace.roomy import GrowingColumns

#: The columns of `Channels`, and their types.
_CHANNELS = {"source": "i", "target": "i", "tag": "q", "communicator": "i"}


class Names:
    """The communicators, channels and sites of a run, numbered as they come; 0 is all ranks."""

    def __init__(self, size: int, where: str, *, checked: bool) -> None:
        self.size, self.where = size, where
        self.checked = checked  #: what no run can have left is refused
        self.members: list[Sequence[int]] = []
        self.labels: list[str] = []
        self.wild = 0  #: receives that named no source or no tag
        self._numbers: dict[Hashable, int] = {}
        self._positions: list[dict[int, int]] = []
        self._channels: dict[tuple[int, int, int], _Tags] = {}
        self._ends = GrowingColumns(_CHANNELS)
        self._sites: dict[tuple[str, str], int] = {}
        self.communicator(0, range(size))

    def communicator(self, name: Hashable, members: Sequence[int]) -> None:
        """Add a communicator, or replace the one of this name; members are ranks of the whole."""
        wrong = next((rank for rank in members if not 0 <= rank < self.size), None)
        if wrong is not None:
            raise TraceError(
                "bad_peer",
                f"communicator {name} has rank {wrong} among its members, "
                f"and there are ranks 0 to {self.size - 1}",
                self.where,
            )
        positions = {rank: position for position, rank in enumerate(members)}
        if name in self._numbers:
            number = self._numbers[name]
            self.members[number], self._positions[number] = members, positions
            return
        self._numbers[name] = len(self.members)
        self.members.append(members)
        self.labels.append(str(name))
        self._positions.append(positions)

    def channel(self, source: int, target: int, tag: int, comm: int) -> int:
        """Return the number of a channel.

        Raises
        ------
        FileError
            If the tag is beyond 64 bits.
        """
        tags = self._channels.get((source, target, comm))
        if tags is None:
            tags = self._channels[source, target, comm] = _Tags()
        number = tags.number(tag)
        if number == NONE:
            number = len(self._ends)
            try:
                self._ends.append((source, target, tag, comm))
            except OverflowError:
                sentence = f"{self.where}: a message has a tag or a communicator beyond 64 bits"
                raise FileError(sentence) from None
            tags.add(tag, number)
        return number

    def site(self, name: str, region: str = "") -> int:
        """Return the number of a call site, and of the region that it is in."""
        return self._sites.setdefault((name, region), len(self._sites))

    def number(self, name: Hashable, rank: int, event: int | str) -> tuple[int, Mapping[int, int]]:
        """Return a communicator's number and the positions of its members, this rank among them.

        ``event`` is where errors are: the number of the rank's event, or a text.
        """
        number = self._numbers.get(name)
        if number is not None and rank in self._positions[number]:
            return number, self._positions[number]
        place = event if isinstance(event, str) else f"rank {rank}, event {event}"
        if number is None:
            raise TraceError("not_in_comm", f"{place}: there is no communicator {name}", self.where)
        raise TraceError(
            "not_in_comm",
            f"{place}: the rank is not in communicator {name}, "
            f"whose members are {_names(self.members[number])}",
            self.where,
        )

    def leak(self, rank: int, requests: Sequence[Hashable]) -> TraceError:
        """Return the error of a rank that ends with open requests."""
        others = f" and {len(requests) - 1} more" if len(requests) > 1 else ""
        sentence = (
            f"rank {rank} ends with request {requests[0]} open{others}; wait for it, or free it"
        )
        return TraceError("request_leak", sentence, self.where)

    def positions(self, number: int) -> Mapping[int, int]:
        """Return the positions of a communicator's members, by its number."""
        return self._positions[number]

    @property
    def sites(self) -> list[tuple[str, str]]:
        """The call sites in order, each a name and its region."""
        return list(self._sites)

    def channels(self) -> Channels:
        """Return all channels as columns."""
        return Channels(**self._ends.arrays())


class _Tags:
    """The channels of two ranks by their tags.

    Tags that count up, and whose channels lie equally far apart, take nothing; others that count
    up 4 bytes each.
    """

    def __init__(self) -> None:
        self.first, self.channel, self.apart = 0, 0, 1  #: the first tag, its channel, the distance
        self.even = 0  #: how many tags from the first on lie so
        self.counting = array("i")  #: the channels of those that count up from there
        self.others = dict[int, int]()

    def number(self, tag: int) -> int:
        """Return the number of a channel, `NONE` if there is none."""
        at = tag - self.first
        if 0 <= at < self.even:
            return self.channel + at * self.apart
        at -= self.even
        if 0 <= at < len(self.counting):
            return self.counting[at]
        return self.others.get(tag, NONE)

    def add(self, tag: int, number: int) -> None:
        """Add a channel."""
        if not self.even:
            self.first, self.channel, self.even = tag, number, 1
            return
        after = tag - self.first - self.even  #: those that count up
        if after == 0 and self.even == 1:
            self.apart, self.even = number - self.channel, 2
        elif after == 0 == len(self.counting) and number == self.channel + self.even * self.apart:
            self.even += 1
        elif after == len(self.counting):
            self.counting.append(number)
        else:
            self.others[tag] = number


def _names(members: Sequence[int]) -> str:
    names = ", ".join(map(str, members[:8]))
    return f"{names}, …" if len(members) > 8 else names
