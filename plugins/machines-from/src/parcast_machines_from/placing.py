"""Which outputs were measured within a node or another level, as people say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape, glob
from pathlib import Path

from parcast.errors import ParcastError
from parcast_machines_from.naming import called, pattern_of_alone
from parcast_machines_from.reading import at_level, files_of, read_all
from parcast_machines_from.records import FIRST, Reading

#: What precedes a placement in a machine's file.
_MARK = "# --within "


def read_placed(paths: Sequence[Path], within: Sequence[str]) -> Reading:
    """Return what files say, with each output where people say that its processes were.

    Parameters
    ----------
    paths
        Files and folders.
    within
        Texts such as ``node=FILE``, with a file, a folder, or a pattern of either or of names
        among the files.

    Raises
    ------
    FileError
        If a line of a file that is named is wrong, or nothing is read at all.
    ParcastError
        If a text says no level, or names no file.
    """
    inside = [path for path, _ in files_of(paths)]
    levels: dict[Path, str] = {}
    beside: list[Path] = []
    for text in within:
        level, names = _parts(text)
        for path in _matches(names, inside, text):
            levels[path.resolve()] = level
            beside.append(path)
    listed = {path.resolve() for path in inside}
    reading = read_all([*paths, *(path for path in beside if path.resolve() not in listed)])
    return _at_levels(reading, levels)


def _at_levels(reading: Reading, levels: Mapping[Path, str]) -> Reading:
    near: dict[str, Reading] = {}
    far = Reading(facts=reading.facts, notes=reading.notes)
    for item in reading.series:
        level = levels.get(Path(item.path).resolve())
        if level is None:
            far += Reading((item,))
        else:
            near[level] = near.get(level, Reading()) + Reading((item,))
    for level, outputs in near.items():
        far += at_level(outputs, level)
    doubtful = [item.file for item in near.get("network", Reading()).series if item.within == FIRST]
    if doubtful:
        names = called(doubtful, {item.file for item in reading.series})
        text = f"{names}: taken as between two nodes, as --within network says, though "
        far += Reading(notes=(f"{text}the first of many processes mostly share one",))
    return far


def _parts(text: str) -> tuple[str, str]:
    level, _, names = text.partition("=")
    if not level or not names:
        raise ParcastError(f"--within {text!r}: write such as node=intra.txt")
    return level, names


def _matches(names: str, inside: Iterable[Path], text: str) -> list[Path]:
    """Return the files that a name or a pattern stands for."""
    paths = [Path(names)] if Path(names).exists() else [Path(name) for name in sorted(glob(names))]  # noqa: PTH207  # may be absolute
    paths = paths or [path for path in inside if fnmatchcase(path.name, names)]
    if not paths:
        raise ParcastError(
            f"--within {text!r}: no file matches {names!r}; name a file, a folder, or a pattern of "
            "names among the outputs"
        )
    return [path for path, _ in files_of(paths)]


def marks(reading: Reading, within: Sequence[str]) -> str:
    """Return the lines by which a machine's file keeps where its outputs were measured."""
    inside = list(dict.fromkeys(Path(item.path) for item in reading.series))
    listed = {path.resolve() for path in inside}
    lines = []
    for text in within:
        level, names = _parts(text)
        paths = _matches(names, inside, text)
        near = [path.name for path in paths if path.resolve() in listed]
        lines += [f"{_MARK}{level}={name}\n" for name in _few(near, inside)]
    return "".join(dict.fromkeys(lines))


def _few(names: Sequence[str], inside: Sequence[Path]) -> list[str]:
    """Return a pattern that matches these names alone, or else each of them."""
    pattern = pattern_of_alone(names, {path.name for path in inside}) if len(names) > 1 else ""
    return [pattern] if pattern else [escape(name) for name in names]


def kept_marks(machine: str, paths: Sequence[Path]) -> list[str]:
    """Return the placements that a machine's file keeps of files with these names."""
    path = Path(machine)
    if path.suffix != ".toml" or not path.is_file():
        return []
    inside = [path for path, _ in files_of(paths)]
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    placements = [_parts(line.removeprefix(_MARK)) for line in lines if line.startswith(_MARK)]
    return [
        f"{level}={path}"
        for level, names in placements
        for path in inside
        if fnmatchcase(path.name, names)
    ]
