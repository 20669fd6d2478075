"""Time-independent traces of SimGrid: an action a line, or an index of such files.

Format: SimGrid 4, ``src/smpi/internals/smpi_replay.cpp``. The traces hold work, not times:
computation in floating-point operations, and sleeping in seconds. What one says is timed on a
named machine. Amounts are elements: of the type that an action names, else bytes, or doubles where
``init`` has an argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from parcast.errors import FileError
from parcast_traces.readers.actions import RECEIVES, Player
from parcast_traces.readers.plans import Plans
from parcast_traces.readers.rank_files import files_beside
from parcast_traces.readers.text import Place, lines, whole
from parcast_traces.readers.wildcards import Envelopes, counted, messages_of, wildcard_notes
from parcast_traces.trace.columns import Trace
from parcast_traces.trace.recording import Recording

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
    """
    ranks, wild = set[int](), False
    listed = (action_file for file in files or _beside(path) for action_file in _files(file))
    files = list(dict.fromkeys(listed))
    begins: dict[int, Place] = {}
    for rank, words, where in _actions(files):
        ranks.add(rank)
        if len(files) > 1 and words[0].lower() == "init" and rank in begins:
            raise FileError(f"{where}: rank {rank} begins here and at {begins[rank]}: these are "
                            "traces of several runs; give one of them")  # fmt: skip
        begins.setdefault(rank, where)
        wild = wild or (words[0].lower() in RECEIVES and "-" in "".join(words[1:]))
    if not ranks:
        raise FileError(f"{path} has no actions")
    size = max(ranks) + 1
    if len(ranks) < size:
        missing = next(rank for rank in range(size) if rank not in ranks)
        raise FileError(
            f"{path}: rank {missing} of 0 to {size - 1} has no actions; is its file missing?"
        )
    recording, notes = Recording(size, str(path)), dict[str, None]()
    players = [Player(recorder, size) for recorder in recording.ranks]
    if wild:
        envelopes = _messages(files, size)
        notes.update(dict.fromkeys(wildcard_notes(*counted(envelopes), _NULL)))
        for player, got in zip(players, envelopes, strict=True):
            player.envelopes = iter(got)
    for rank, words, where in _actions(files):
        players[rank].play(words, where)
    for player in players:
        notes.update(player.give_up())
    return recording.trace(timed=False, notes=tuple(notes))


def _messages(files: Sequence[Path], size: int) -> list[Envelopes]:
    """Return whose messages the receives got that name no source or no tag."""
    plans = Plans(size).ranks
    players = [Player(plan, size) for plan in plans]
    for rank, words, where in _actions(files):
        plans[rank].where = where
        players[rank].play(words, where)
    return messages_of(plans)


def _actions(files: Iterable[Path]) -> Iterator[tuple[int, Sequence[str], Place]]:
    """Yield the rank, the words and the line of every action."""
    for file in files:
        name = str(file)
        for line, text in lines(file):
            words: Sequence[str] = text.split()
            if not words or words[0].startswith("#"):
                continue
            where = Place(name, line)
            if len(words) < 2:
                raise FileError(f"{where}: an action is a rank and a word, such as '0 init'")
            yield whole(words[0], where), words[1:], where


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
                raise FileError(f"{path}:{line}: there is no file {text[:80]!r}")
            yield file


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # no file has such a name
        return False
