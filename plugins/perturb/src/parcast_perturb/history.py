"""The history of experiments: every answer that is stored, as a result file of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from parcast.errors import FileError

_KIND = "parcast perturb experiment"


def store_experiment(folder: Path, question: Mapping[str, Any], answer: Mapping[str, Any]) -> Path:
    """Write an answer, with what was asked and when, into a folder; return its file.

    Files are numbered as they come; two that come at once get two numbers.

    Raises
    ------
    FileError
        If it cannot be written; nothing is left of it then.
    """
    whole = {
        "kind": _KIND,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": version("parcast-perturb"),
        "asked": {
            name: value for name, value in question.items() if value not in (None, False, [])
        },
        "found": answer,
    }
    temporary = folder / f".{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(whole, allow_nan=False) + "\n")
        number = max((int(file.stem) for file in _files(folder)), default=0) + 1
        while True:
            path = folder / f"{number:04}.json"
            try:
                os.link(temporary, path)  # fails where there is one
            except FileExistsError:
                number += 1
            else:
                return path
    except OSError as error:
        raise FileError(f"{folder}: nothing can be stored there: {error.strerror}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if path.stem.isdecimal())


def stored_experiments(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the experiments of a folder in their order, each with its ``file``.

    Raises
    ------
    FileError
        If there is no such folder, or a file in it is none of these.
    """
    if not folder.is_dir():
        raise FileError(f"{folder} is no folder; 'parcast perturb run --keep {folder}' makes it")
    for path in _files(folder):
        try:
            data = json.loads(path.read_text())
            whole = data["kind"] == _KIND
            data["found"]["makespan"]["before"], data["asked"]["trace"], data["made"]
        except (OSError, ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            raise FileError(f"{path} is no experiment that 'parcast perturb run --keep' wrote")
        yield {"file": path.name, **data}


def table_lines(experiments: list[dict[str, Any]]) -> list[str]:
    """Return a line for each experiment, and what was asked."""
    if not experiments:
        return ["no experiments yet"]
    lines = [f"{'file':10}{'made':27}{'before':>14}{'after':>14}{'change':>9}  asked"]
    for experiment in experiments:
        answer, options = experiment["found"], dict(experiment["asked"])
        spans, tick = answer["makespan"], answer["tick"]
        before, after = spans["before"], spans[answer["policy"]]["mean"]
        change = f"{after / before - 1:+.2%}" if before > 0 else ""
        unit, scale = ("", 1.0) if tick is None else (" s", tick)
        times = "".join(f"{f'{time * scale:.6g}{unit}':>14}" for time in (before, after))
        words = " ".join([str(options.pop("trace")), *_options(options)])
        lines.append(f"{experiment['file']:10}{experiment['made']:27}{times}{change:>9}  {words}")
    return lines


def _options(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        for item in value if isinstance(value, list) else [value]:
            yield option if item is True else f"{option}={item}"
