"""Time-independent traces of SimGrid: an action a line, or an index of such files.

Format: SimGrid 4, ``src/smpi/internals/smpi_replay.cpp``. The traces hold work, not times:
computation in floating-point operations, and sleeping in seconds. What one says is timed on a
named machine. Amounts are elements: of the type that an action names, else bytes, or doubles where
``init`` has an argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from parcast.errors import FileError, shorten
from parcast_traces.readers.actions import Action, Player
from parcast_traces.readers.formats import ACTION
from parcast_traces.readers.plans import Plans
from parcast_traces.readers.rank_files import files_beside
from parcast_traces.readers.text import Place, Position, blocks, lines
from parcast_traces.readers.wildcards import Envelopes, counted, messages_of, wildcard_notes
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.limits import current_limit
from parcast_traces.trace.recording import Recording

#: The first word of each line, if it is a rank; a receive with a number below 0.
_RANK = re.compile(rb"^[ \t]*(\d{1,9})(?=\s|\Z)", re.MULTILINE)
_WILD = re.compile(rb"recv[^\n]*-", re.IGNORECASE)
_MOST_RANKS = 1 << 20
#: Lines that are kept as they were read, for when they come again.
_MOST_KNOWN = 1 << 16

#: Who sends nothing.
_NULL = "MPI_PROC_NULL, which SMPI's tracer writes in the same way"


def read(path: Path, files: Sequence[Path] = ()) -> Trace:
    """Return the trace in a file, in the files that an index lists, or in several files.

    Raises
    ------
    FileError
        If a file cannot be read, or a line is no action.
    TraceError
        If no run can have left it.
    UnsupportedError
        If it has more events than are wanted.
    """
    listed = (action_file for file in files or _beside(path) for action_file in _files(file))
    files = list(dict.fromkeys(listed))
    ranks, wild = _ranks(path, files)
    if not ranks:
        raise FileError(f"{path} has no actions")
    size = max(ranks) + 1
    if len(ranks) < size:
        missing = next(rank for rank in range(size) if rank not in ranks)
        raise FileError(
            f"{path}: rank {missing} of 0 to {size - 1} has no actions; is its file missing?"
        )
    recording, notes, where = Recording(size, str(path)), dict[str, None](), Position()
    players = [Player(recorder, size, where) for recorder in recording.ranks]
    if wild:
        envelopes = _messages(files, size)
        notes.update(dict.fromkeys(wildcard_notes(*counted(envelopes), _NULL)))
        for player, got in zip(players, envelopes, strict=True):
            player.envelopes = iter(got)
    _play(files, players, where)
    for player in players:
        notes.update(player.give_up())
    return recording.trace(timed=False, notes=tuple(notes))


def _ranks(path: Path, files: Sequence[Path]) -> tuple[set[int], bool]:
    """Return the ranks of all lines, and whether a receive may name no source or no tag.

    Raises
    ------
    UnsupportedError
        If there are more events than are wanted.
    """
    words, wild, events, limit = set[bytes](), False, 0, current_limit()
    for file in files:
        for block in blocks(file):
            if limit is not None:
                events += sum(1 for _ in ACTION.finditer(block))
                limit.check(str(path), events)
            words.update(_RANK.findall(block))
            wild = wild or (b"-" in block and _WILD.search(block) is not None)
            if len(words) > _MOST_RANKS:
                raise FileError(f"{file}: it has more than {_MOST_RANKS:,} ranks")
    return {int(word) for word in words}, wild


def _messages(files: Sequence[Path], size: int) -> list[Envelopes]:
    """Return whose messages the receives got that name no source or no tag."""
    plans, where = Plans(size).ranks, Position()
    for plan in plans:
        plan.where = where
    _play(files, [Player(plan, size, where) for plan in plans], where)
    return messages_of(plans)


def _play(files: Sequence[Path], players: Sequence[Player], where: Position) -> None:
    """Let ranks do what the lines say; a line that comes again is not read again."""
    for file in files:
        where.file = str(file)
        actions: dict[str, tuple[Player, Action, str]] = {}
        for where.line, text in lines(file):
            entry = actions.get(text)
            if entry is None:
                words = text.split()
                if not words or words[0].startswith("#"):
                    continue
                player = _player(words, players, where)
                name = words[1].lower()
                if name == "init" or len(actions) > _MOST_KNOWN:  # which says what amounts mean
                    actions.clear()
                entry = actions[text] = player, player.action(words[1:]), name
            player, act, name = entry
            if name == "location":
                act()
                continue
            if name != "compute":
                player.last_call = player.clock
            act()
            if player.recorder.line:  # it was this action's
                player.recorder.line = ""


def _player(words: Sequence[str], players: Sequence[Player], where: Position) -> Player:
    """Return whose action a line is."""
    if len(words) < 2:
        raise FileError(f"{where}: an action is a rank and a word, such as '0 init'")
    rank = int(words[0]) if words[0].isdecimal() else -1
    if not 0 <= rank < len(players):
        raise FileError(f"{where}: {shorten(words[0])!r} is no rank")
    player = players[rank]
    if player.began is None:
        player.began = Place(where.file, where.line)
    elif words[1].lower() == "init" and player.began.file != where.file:
        raise FileError(f"{where}: rank {rank} begins here and at {player.began}: these are "
                        "traces of several runs; give one of them")  # fmt: skip
    return player


def _beside(path: Path) -> list[Path]:
    """Return a file with those of other ranks: each begins with a rank of its own."""
    files = files_beside(path)
    ranks = {_first_word(file) for file in files}
    return files if len(ranks) == len(files) and all(map(str.isdigit, ranks)) else [path]


def _first_word(path: Path) -> str:
    """Return the first word of a file, "" of an empty one: a rank, or part of a file's name."""
    words = (text.split() for _, text in lines(path) if text and not text.startswith("#"))
    return next(words, [""])[0]


def _files(path: Path) -> Iterator[Path]:
    """Yield the file itself, or those that it lists."""
    first = _first_word(path)
    if not first or first.isdigit():
        yield path
        return
    for line, text in lines(path):
        if text and not text.startswith("#"):
            places = (path.parent / text, path.parent / Path(text).name)
            file = next((place for place in places if _is_file(place)), None)
            if file is None:
                raise FileError(f"{path}:{line}: {shorten(text)!r} is neither an action, such as "
                                "'0 init', nor a file beside it")  # fmt: skip
            yield file


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no file has such a name
        return False
