"""Communicators, from what each rank says of its own splits and duplicates.

The n-th call that makes one of a parent is the same call on all ranks of the parent, and those
of one color are together, ordered by key.
"""

from __future__ import annotations

from collections import Counter

from parcast.errors import FileError
from parcast_traces.trace.recording import Recording

#: A communicator: 0 is that of all ranks, as a `Recording` has it.
Name = int | str

WORLD: Name = 0


class Communicators:
    """The communicators of a run, by names that all ranks share."""

    def __init__(self, size: int) -> None:
        self.members: dict[Name, list[int]] = {WORLD: list(range(size))}
        self._keys: dict[Name, dict[int, int]] = {}
        self._parents: dict[Name, Name] = {}
        self._calls: Counter[tuple[int, Name]] = Counter()

    def add(self, rank: int, parent: Name, color: int = 0, key: int = 0) -> str | None:
        """Say that a rank made one of ``parent``; return its name, None where it is in none."""
        number = self._calls[rank, parent]
        self._calls[rank, parent] += 1
        if color < 0:  # undefined
            return None
        name = f"{parent}.{number}.{color}"
        self._parents[name] = parent
        self._keys.setdefault(name, {})[rank] = key
        return name

    def settle(self) -> None:
        """Order the members, once all ranks have said what they made."""
        for name in sorted(self._keys, key=lambda label: str(label).count(".")):
            keys, parent = self._keys[name], self.members[self._parents[name]]
            self.members[name] = sorted(keys, key=lambda rank: (keys[rank], parent.index(rank)))

    def record(self, recording: Recording) -> None:
        """Give all of them to a recording."""
        for name, members in self.members.items():
            recording.communicator(name, members)

    def peer(self, name: Name, position: int, where: object) -> int:
        """Return the rank at a position.

        Raises
        ------
        FileError
            If there is none; ``where`` is the call's place.
        """
        members = self.members[name]
        if not 0 <= position < len(members):
            raise FileError(
                f"{where}: the peer is {position}, and the communicator has {len(members)} members"
            )
        return members[position]
