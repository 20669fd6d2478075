"""Files of models: reading, imports, and the machine in place of what is extern."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from parcast.errors import FileError, did_you_mean
from parcast.files import read_text
from parcast_pamela.language.checks import check
from parcast_pamela.language.errors import ModelError
from parcast_pamela.language.model import Load, Model, link, refuse_same_names
from parcast_pamela.language.parser import parse
from parcast_pamela.language.positions import Position, Source
from parcast_pamela.language.tree import Declaration, Import


def read_model(path: Path, machine: str | Path | None = None) -> Model:
    """Return the model in a ``.pam`` file, checked.

    Parameters
    ----------
    path
        The file.
    machine
        A file, or the name of a shipped machine model, whose equations stand for what the
        model declares as ``extern``.

    Raises
    ------
    FileError
        If a file cannot be read or is wrong; the position is named.
    """
    return model_of(read_text(path), str(path), path.stem, path.parent, machine)


def model_of(
    text: str,
    where: str = "model",
    name: str = "model",
    folder: Path | None = None,
    machine: str | Path | None = None,
) -> Model:
    """Return the model in a text, checked; see `read_model`."""
    declared, warnings = parse(text, where)
    load = _loader(folder)
    if machine is not None:
        start = Position(Source(where, text), 1, 1)
        imported = Import(str(machine), None, position=start)
        refuse_same_names(declared, imported, load)
        declared = [*declared, imported]
    return check(link(name, declared, load, warnings))


def library(folder: str = "*") -> dict[str, Path]:
    """Return the files of the library by name: ``interfaces``, ``networks`` and ``machines``."""
    paths = (Path(str(files("parcast_pamela"))) / "library").glob(f"{folder}/*.pam")
    return {path.stem: path for path in sorted(paths)}


def _loader(folder: Path | None) -> Load:
    def load(imported: Import) -> tuple[list[Declaration], list[str], Load]:
        for path in _candidates(imported.path, folder):
            if path.is_file():
                try:
                    declared, warnings = parse(read_text(path), str(path))
                except ModelError:
                    raise
                except FileError as error:
                    raise ModelError(str(error), imported.position) from None
                return declared, warnings, _loader(path.parent)
        hint = did_you_mean(imported.path, library())
        raise ModelError(
            f"there is no file {imported.path!r}, nor one of this name in the library.{hint} "
            f"It has: {', '.join(library())}",
            imported.position,
        )

    return load


def _candidates(written: str, folder: Path | None) -> Iterator[Path]:
    path = Path(written)
    yield path if path.is_absolute() or folder is None else folder / path
    shipped = library()
    if path.stem in shipped and path.suffix in {"", ".pam"}:
        yield shipped[path.stem]
