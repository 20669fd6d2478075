"""Which rank each profile is of, how many there were, and who stands for those without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from parcast.errors import FileError, UnsupportedError
from parcast_traces.readers.kineto.profile import Profile
from parcast_traces.readers.rank_files import check_size, rank_named

#: No run has more ranks; a larger number is something else.
_MOST_RANKS = 1 << 20


def by_rank(profiles: Sequence[Profile], path: Path, *, sought: bool) -> dict[int, Profile]:
    """Return profiles by their ranks.

    Parameters
    ----------
    profiles
        Those of all files.
    path
        The file that the user named.
    sought
        Whether the others were found beside it; it stands alone unless they are surely of one run.

    Raises
    ------
    FileError
        If the ranks are not known, or two files are of one.
    """
    ranks = [_rank(profile) for profile in profiles]
    if len(profiles) == 1:
        return {ranks[0] or 0: profiles[0]}
    numbered = {rank: p for rank, p in zip(ranks, profiles, strict=True) if rank is not None}
    if len(numbered) == len(profiles) and not (sought and any(map(_apart, profiles))):
        return numbered
    if sought:
        own = next(profile for profile in profiles if profile.file == path)
        return {_rank(own) or 0: own}
    if None in ranks:
        nameless = profiles[ranks.index(None)]
        raise FileError(f"{nameless.file}: neither the file nor its name says its rank")
    twice = next(rank for rank in ranks if ranks.count(rank) > 1)
    first, second, *_ = (p.file for p, r in zip(profiles, ranks, strict=True) if r == twice)
    raise FileError(f"{first} and {second.name} are both of rank {twice}; give those of one run")


def _apart(profile: Profile) -> bool:
    """Tell whether nothing but its name says that a file is of one of several ranks."""
    return not (profile.info or profile.devices or profile.operations)


def _rank(profile: Profile) -> int | None:
    """Return the rank that a file says, or else its name."""
    rank = profile.info.get("rank")
    if type(rank) is int and 0 <= rank < _MOST_RANKS:
        return rank
    rank = rank_named(profile.file)
    return rank if rank is not None and rank < _MOST_RANKS else None


def world_size(
    profiles: Mapping[int, Profile], group_sizes: Iterable[int | None], path: Path
) -> int | None:
    """Return how many ranks the run had, None where no file says it.

    Raises
    ------
    FileError
        If files say different numbers, or ranks beyond them.
    """
    stated: dict[int, Path] = {}
    for profile in profiles.values():
        size = profile.info.get("world_size")
        if type(size) is int and size > 0:
            stated.setdefault(size, profile.file)
    if len(stated) > 1:
        files = ", ".join(f"{file.name} ({size} ranks)" for size, file in stated.items())
        raise FileError(f"{path}: these are files of several runs: {files}")
    size = next(iter(stated), None) or max((s for s in group_sizes if s), default=None)
    if size is not None and size > _MOST_RANKS:
        raise FileError(f"{path}: the run had {size} ranks, and none has more than {_MOST_RANKS:,}")
    if size is None or max(profiles) < size:
        return size
    if stated:
        check_size(path, max(profiles) + 1, size)
    return None


def missing_ranks(path: Path, ranks: Iterable[int], size: int | None) -> str:
    """Return what is wrong with a run some of whose ranks have no file, "" if all have one."""
    present = set(ranks)
    alike = ("give the files of all ranks, or add --assume-alike, which takes the others for the "
             "like of it")  # fmt: skip
    if size is None and len(present) == 1:
        return f"{path}: the rank communicates, and no other rank's file is here; {alike}"
    all_ranks = range(size if size is not None else max(present) + 1)
    missing = next((rank for rank in all_ranks if rank not in present), None)
    if missing is None:
        return ""
    return (
        f"{path}: the run had {len(all_ranks)} ranks, and rank {missing} has no file here; {alike}"
    )


def group_of(
    group: tuple[int, ...] | None, source: int, rank: int, size: int, path: Path
) -> tuple[int, ...] | None:
    """Return the group of a rank for which another stands, by that of the other; None is all.

    Groups are taken to tile the ranks: all have the same distance between their members.

    Raises
    ------
    UnsupportedError
        If that group is no such tile.
    """
    if group is None or group == tuple(range(size)):
        return None
    if rank == source or rank in group:
        return group
    step = group[1] - group[0] if len(group) > 1 else 1
    tile = step * len(group)

    def members(of: int) -> tuple[int, ...]:
        first = of // tile * tile + of % step
        return tuple(range(first, first + tile, step))

    if step < 1 or size % tile or group != members(source):
        shown = ", ".join(map(str, group[:8]))
        raise UnsupportedError(
            f"{path}: the group of ranks {shown} of {size} says nothing of the groups of the "
            "others, so that rank "
            f"{source} cannot stand for them; give the files of all ranks"
        )
    return members(rank)
