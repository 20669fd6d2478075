"""What DUMPI's small numbers stand for on a rank: communicators, groups and types."""

from __future__ import annotations

from math import prod

from parcast.errors import UnsupportedError
from parcast_traces.readers.communicators import WORLD, Communicators, Name
from parcast_traces.readers.dumpi.calls import Call

#: DUMPI's own numbers.
_WORLD, _SELF = 2, 3

#: Calls that make communicators, and how each calls the one that it is made of.
MAKES = {"comm_split": "oldcomm", "comm_dup": "oldcomm", "comm_create": "oldcomm",
         "cart_create": "oldcomm", "cart_sub": "oldcomm"}  # fmt: skip
_OF_TWO = {
    "group_union": lambda first, second: [*first, *(rank for rank in second if rank not in first)],
    "group_intersection": lambda first, second: [rank for rank in first if rank in second],
    "group_difference": lambda first, second: [rank for rank in first if rank not in second],
}


class Handles:
    """A rank's numbers of communicators and groups."""

    def __init__(self, rank: int, comms: Communicators, size: int, *, again: bool = False) -> None:
        self.rank, self.comms, self.size, self.again = rank, comms, size, again
        self.names: dict[int, Name | None] = {_WORLD: WORLD}
        self.splits: dict[Name, int] = {}
        self.groups: dict[int, list[int]] = {}  #: those whose members are known
        self.grids: dict[Name, tuple[list[int], int]] = {}  #: sizes, and this rank's position

    def follow(self, call: Call) -> None:
        """Learn of communicators and groups that a call makes."""
        if call.name.startswith("group_") or call.name == "comm_group":
            self._group(call)
        if call.name not in MAKES:
            return
        parent = self.names.get(call.whole(MAKES[call.name]))
        self.names[call.whole("newcomm")] = None if parent is None else self._made(call, parent)

    def _made(self, call: Call, parent: Name) -> Name | None:
        """Return the name of a communicator that is made; None if this rank is in none."""
        color, key, grid = 0, self.rank, None
        if call.name == "comm_split":
            color, key = call.whole("color"), call.whole("key")
        elif call.name == "comm_create":
            group = self.groups.get(call.whole("group"))
            if group is None or parent != WORLD:
                return None
            color, key = (0, group.index(self.rank)) if self.rank in group else (-1, 0)
        elif call.name == "cart_create":
            grid = call.several("dims")
            if min(grid, default=1) < 1:
                return None
            if parent == WORLD and self.rank >= prod(grid):
                color = -1
        elif call.name == "cart_sub":
            if parent not in self.grids:
                return None
            color, key, grid = self._part(call, *self.grids[parent])
        name = self._name(parent, color, key)
        if name is not None and grid is not None and (parent == WORLD or call.name == "cart_sub"):
            self.grids[name] = grid, key
        return name

    def _name(self, parent: Name, color: int, key: int) -> Name | None:
        if not self.again:
            return self.comms.add(self.rank, parent, color, key)
        number = self.splits[parent] = self.splits.get(parent, -1) + 1
        return f"{parent}.{number}.{color}" if color >= 0 else None

    def _part(self, call: Call, sizes: list[int], position: int) -> tuple[int, int, list[int]]:
        """Return color, key and sizes of the part of a grid that this rank is in."""
        color, key, kept, left = 0, 0, list[int](), position
        places = []
        for size in reversed(sizes):
            left, place = divmod(left, size)
            places.append(place)
        for keep, size, place in zip(call.several("remain_dims"), sizes, reversed(places),
                                     strict=False):  # fmt: skip
            if keep:
                key = key * size + place
                kept.append(size)
            else:
                color = color * size + place
        return color, key, kept

    def _group(self, call: Call) -> None:
        """Learn of a group of ranks of the whole run."""
        members = None
        if call.name == "comm_group" and self.names.get(call.whole("comm")) == WORLD:
            members = list(range(self.size))
        elif call.name in ("group_incl", "group_excl"):
            group, ranks = self.groups.get(call.whole("group")), call.several("ranks")
            if group is not None and all(0 <= rank < len(group) for rank in ranks):
                named = [group[rank] for rank in ranks]
                left = _OF_TWO["group_difference"](group, named)
                members = named if call.name == "group_incl" else left
        elif call.name in _OF_TWO:
            groups = [self.groups.get(call.whole(name)) for name in ("group1", "group2")]
            if None not in groups:
                members = _OF_TWO[call.name](*groups)
        if members is not None:
            name = "group" if call.name == "comm_group" else "newgroup"
            self.groups[call.whole(name)] = members

    def check_rank(self, call: Call) -> None:
        """Refuse a communicator in which a rank stands elsewhere than a call tells."""
        name = self.names.get(call.whole("comm"))
        members = [] if name is None else self.comms.members.get(name, [])
        if self.rank in members and members.index(self.rank) != call.whole("rank"):
            raise UnsupportedError(
                f"{call.where}: this is rank {call.whole('rank')} of its communicator, and would "
                f"be {members.index(self.rank)} in the order of all ranks; are its ranks reordered?"
            )

    def of(self, call: Call) -> Name | None:
        """Return the communicator of a call; None is that of this rank alone."""
        number = call.whole("comm")
        if number == _SELF:
            return None
        name = self.names.get(number)
        if name is None:
            raise UnsupportedError(
                f"{call.where}: communicator {number} was not made of all ranks by MPI_Comm_split, "
                "_dup, _create or MPI_Cart_create, so nothing says who is in it"
            )
        return name


class Types:
    """How many bytes a rank's types have."""

    def __init__(self) -> None:
        self.made: dict[int, int] = {}

    def width(self, call: Call, name: str) -> int:
        """Return the bytes of a value of a type that a call names."""
        number = call.whole(name)
        return self.made[number] if number in self.made else call.width(number)

    def follow(self, call: Call) -> None:
        """Learn of a type that a call makes of others."""
        if not call.name.startswith("type_") or "newtype" not in call.fields:
            return
        try:
            self.made[call.whole("newtype")] = self._made(call)
        except UnsupportedError:  # of a type that is not known: it counts where it is used
            self.made.pop(call.whole("newtype"), None)

    def _made(self, call: Call) -> int:
        if "oldtypes" in call.fields:
            widths = [self.made.get(number) or call.width(number)
                      for number in call.several("oldtypes")]  # fmt: skip
            return sum(count * width for count, width
                       in zip(call.several("lengths"), widths, strict=False))  # fmt: skip
        width = self.width(call, "oldtype")
        if "lengths" in call.fields:
            return sum(call.several("lengths")) * width
        counts = [call.whole(name) for name in ("count", "blocklength") if name in call.fields]
        return prod(counts) * width
