"""What files of a git clone hold, read from its newest commit without a work tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path


def texts(repository: Path, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file whose path matches a regular expression."""
    listing = [line.split("\t") for line in _git(repository, "ls-tree", "-r", "HEAD").splitlines()]
    blobs = [(meta.split()[2], path) for meta, path in listing if re.search(wanted, path)]
    request = "\n".join(blob for blob, _ in blobs) + "\n"
    data = _git(repository, "cat-file", "--batch", request=request).encode("latin-1")
    at = 0
    for _, path in blobs:
        end = data.index(b"\n", at)
        head = data[at:end].split()
        at = end + 1
        if head[-1] == b"missing":
            continue
        length = int(head[2])
        yield path, data[at : at + length].decode(errors="replace")
        at += length + 1


def _git(repository: Path, *arguments: str, request: str | None = None) -> str:
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    line = ["git", "-C", str(repository), *arguments]
    return subprocess.run(  # noqa: S603
        line,
        check=True,
        capture_output=True,
        input=request,
        env=environment,
        encoding="latin-1",  # any byte is a character, so that lengths are those of bytes
    ).stdout
