"""What files of a git clone hold, read from its newest commit without a work tree."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path


def texts(repository: Path, wanted: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file whose path matches a regular expression."""
    for path, data in blobs(repository, wanted):
        yield path, data.decode(errors="replace")


def blobs(repository: Path, wanted: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each of them that the clone has."""
    listing = _git(repository, "ls-tree", "-r", "HEAD").decode().splitlines()
    pairs = [line.split("\t") for line in listing]
    named = [(meta.split()[2], path) for meta, path in pairs if re.search(wanted, path)]
    request = "\n".join(blob for blob, _ in named) + "\n"
    data = _git(repository, "cat-file", "--batch", request=request.encode())
    at = 0
    for _, path in named:
        end = data.index(b"\n", at)
        head = data[at:end].split()
        at = end + 1
        if head[-1] == b"missing":
            continue
        length = int(head[2])
        yield path, data[at : at + length]
        at += length + 1


def _git(repository: Path, *arguments: str, request: bytes | None = None) -> bytes:
    """Return what git prints, as bytes: as text, ends of lines would be changed, and lengths."""
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    line = ["git", "-C", str(repository), *arguments]
    return subprocess.run(  # noqa: S603
        line, check=True, capture_output=True, input=request, env=environment
    ).stdout
