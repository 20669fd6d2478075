"""Machines and workloads from what people give: names, files, mappings, functions and values."""

from __future__ import annotations

import difflib
import glob
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

from parcast.errors import FileError, ParcastError, UnknownNameError
from parcast.files import tables as files
from parcast.files.alike import ASSUMED_ALIKE
from parcast.model.machine import Machine
from parcast.model.workload import Workload
from parcast.plugins.entries import Reader, Resource, load

if TYPE_CHECKING:
    from parcast.plugins.catalog import Catalog

MachineLike = str | Path | Mapping[str, Any] | Machine
WorkloadLike = str | Path | Mapping[str, Any] | FunctionType | Workload

#: How much of a file is looked through for a reader's mark.
_BEGINNING = 1 << 16

#: Suffixes of tables, which a reader of files of any suffix does not get.
#: What stands in a clone for a file that Git LFS keeps.
_POINTER = b"version https://git-lfs"

_TABLES = (".toml", ".json")


def machine(registry: Catalog, source: MachineLike) -> Machine:
    """Return the machine that is given; see `Registry.machine`."""
    if isinstance(source, Machine):
        return source
    if isinstance(source, Mapping):
        return files.machine_from_data(source, "machine", registry.parts, "machine")
    value = _named(registry, "machines", source, registry.machines)
    if not isinstance(value, Machine):
        raise FileError(f"{source} is a workload, not a machine")
    return value


def workload(registry: Catalog, source: WorkloadLike) -> Workload:
    """Return the workload that is given; see `Registry.workload`."""
    if isinstance(source, Workload):
        return source
    if isinstance(source, FunctionType):
        from parcast.program.reader import read_function

        return read_function(source)
    if isinstance(source, Mapping):
        return files.workload_from_data(source, "workload", registry.kinds, "workload")
    if _joins(registry, source):
        from parcast.comparison.jobs import joined

        return joined([workload(registry, name.strip()) for name in str(source).split("+")])
    value = _named(registry, "workloads", source, registry.workloads)
    if not isinstance(value, Workload):
        raise FileError(f"{source} is a machine, not a workload")
    return value


def _joins(registry: Catalog, source: object) -> bool:
    """Return whether a text names several jobs, as ``a.py+b.py``, and nothing of that name."""
    text = source if isinstance(source, str) else ""
    several = "+" in text and all(name.strip() for name in text.split("+"))
    is_name = text in registry.workloads or os.path.exists(text)  # noqa: PTH110  (never raises)
    return several and not is_name


def _named(
    registry: Catalog, group: str, spec: str | Path, resources: Mapping[str, Resource]
) -> Machine | Workload:
    if not isinstance(spec, str | Path) or not str(spec).strip():
        raise UnknownNameError(f"{spec!r} is no {group[:-1]}; give a name, a file or a mapping")
    if isinstance(spec, str) and spec in resources:
        return file(registry, group, Path(str(resources[spec].path)), spec)
    path = Path(spec)
    looks_like_path = isinstance(spec, Path) or path.suffix or os.sep in str(spec)
    if not looks_like_path and not os.path.exists(path):  # noqa: PTH110  (never raises)
        other_group = "workloads" if group == "machines" else "machines"
        if spec in getattr(registry, other_group):
            raise UnknownNameError(f"{spec!r} is a {other_group[:-1]}, not a {group[:-1]}")
        registry.lookup(group, str(spec), resources)
    try:
        return file(registry, group, path, path.stem)
    except FileError as error:
        if str(error) == f"{path} does not exist":
            raise FileError(f"{error}.{_meant(path, resources)}") from None
        raise


def _meant(path: Path, names: Iterable[str]) -> str:
    """Return a hint at a file beside a path, or at a name, that is nearly the one given."""
    beside = path.parent.glob(f"*{glob.escape(path.suffix)}")
    candidates = {sibling.stem: str(sibling) for sibling in beside} | {name: name for name in names}
    close = difflib.get_close_matches(path.stem, candidates, n=1)
    return f" Did you mean {candidates[close[0]]!r}?" if close else ""


def file(registry: Catalog, group: str | None, path: Path, name: str) -> Machine | Workload:
    """Return what a file describes: what is wanted, or by ``None`` whichever it is, to be shown."""
    _check_content(path)
    reader = _reader(registry, path)
    if ASSUMED_ALIKE.get() and group != "machines" and not (reader and reader.alike):
        raise ParcastError(
            f"--assume-alike: {path} is no recorded run, and only of these can ranks stand for "
            "others; leave it out"
        )
    if reader and reader.command:
        known = reader.summary[:1].lower() + reader.summary[1:].rstrip(".")
        raise FileError(
            f"{path} is no workload and no machine, but {known}; give it to 'parcast "
            f"{reader.command} {path}'"
        )
    if reader:
        return _read_by((group is None and reader.shown) or reader.target, path)
    if path.suffix.lower() not in _TABLES:
        files.read_text(path)
        suffixes = [
            ".toml",
            ".json",
            *(r.suffix for r in registry.readers.values() if not r.command),
        ]
        suffix_list = ", ".join(dict.fromkeys(filter(None, suffixes)))
        if path.suffix.lower() in suffixes:
            sought = _summaries(registry, path.suffix.lower())
            raise FileError(
                f"{path}: it has nothing that readers of {path.suffix!r} files look for: {sought}"
            )
        raise FileError(f"{path}: no reader for {path.suffix!r} files. Known: {suffix_list}.")
    data = files.read_data(path)
    if group == "machines" or (group is None and files.is_machine(data)):
        return files.machine_from_data(data, str(path), registry.parts, name)
    return files.workload_from_data(data, str(path), registry.kinds, name)


def _check_content(path: Path) -> None:
    """Refuse a file that has no content of its own, whatever its suffix says."""
    try:
        with path.open("rb") as opened:
            beginning = opened.read(len(_POINTER))
    except (OSError, ValueError):
        return  # what is wrong is told where the file is read, as are folders and patterns
    if not beginning:
        raise FileError(f"{path} is empty")
    if beginning == _POINTER:
        raise FileError(
            f"{path} is a pointer of Git LFS in place of the file; get the file by 'git lfs pull'"
        )


def _summaries(registry: Catalog, suffix: str) -> str:
    of = [r.summary for r in registry.readers.values() if r.suffix == suffix and not r.command]
    return " ".join(of)


def _reader(registry: Catalog, path: Path) -> Reader | None:
    """Return the reader of a file: by its suffix and what it begins with, then by either."""
    by_suffix = registry.readers.get(path.suffix.lower())
    try:
        return reader_by_mark(registry, path) or by_suffix
    except OSError:
        return by_suffix  # what is wrong is told where the file is read


def reader_by_mark(registry: Catalog, path: Path) -> Reader | None:
    """Return the reader whose mark is in the beginning of a file, those of its suffix first.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    suffix = path.suffix.lower()
    several = path.is_dir() or not path.exists()
    suffixes = {"", suffix} if not several and suffix not in _TABLES else {suffix}
    if suffix in registry.readers:
        suffixes = {suffix}
    marked = [
        entry
        for entry in registry.readers.values()
        if entry.mark and entry.suffix in ({""} if several else suffixes)
    ]
    beginning = _beginning(path, several=several) if marked else ""
    fits = [entry for entry in marked if re.search(entry.mark, beginning)]
    return max(fits, key=lambda entry: entry.suffix == suffix, default=None)


def _beginning(path: Path, *, several: bool) -> str:
    """Return what a file begins with, or the names in a folder or of a pattern, a line each."""
    if several:
        files = path.iterdir() if path.is_dir() else map(Path, glob.iglob(str(path)))  # noqa: PTH207
        return "\n".join(sorted(file.name for file in files))
    with path.open("rb") as opened:
        return opened.read(_BEGINNING).decode("latin-1")


def _read_by(target: str, path: Path) -> Machine | Workload:
    try:
        return load(target)(path)  # type: ignore[no-any-return]
    except ParcastError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be read: {error}") from error
