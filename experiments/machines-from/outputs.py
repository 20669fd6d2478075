"""What the readers say of real outputs in public repositories: outputs.md.

    python experiments/machines-from/outputs.py MIRRORS 12

MIRRORS has a copy of each repository as ``owner+name/repo``, read at its newest or the named
commit; of each folder of a repository so many files are read, evenly spaced, of those with a word
that outputs of benchmarks have.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from parcast.errors import FileError
from parcast_machines_from.reading import read_file

REPOSITORIES = (
    "aistabci/abci2.0benchmark",
    "brown-ccv/osu-benchmarks",
    "ekondis/mixbench@a368f40e89c7",
    "gbrandino/juno_board_testing",
    "hpc-uk/archer-benchmarks",
    "Kish29/HPL_BenchMark",
    "lessizzmore/create-a3mega-ztan-fork",
    "UoB-HPC/BabelStream",
    "UoB-HPC/performance-portability",
    "xxrjun/nccl-tests-cluster",
)
WORDS = (
    "^ *# OSU |# Benchmarking|Best Rate MB/s|^Function +(MBytes|MB|Best|Rate)|nThread .* nGpus|"
    "^T/V +N|HPCG result is|^IOR-[0-9]|Max Write:|fio version|NodeName=|^available: [0-9]+ node|"
    "<topology|mdtest|HPC Challenge|^Experiment ID, *Single|GFLOPs EMP|^ *GPU0 |^CA '"
)
SOURCES = {
    ".c", ".cpp", ".h", ".py", ".sh", ".f90", ".rst", ".cc", ".cu", ".ipynb", ".html", ".yml",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> bytes:
    """Return what git prints."""
    command = ["git", f"--git-dir={folder}", *arguments]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    return done.stdout


def chosen(folder: Path, revision: str, count: int) -> list[str]:
    """Return some files of each folder that have a word of an output."""
    listed = git(folder, "grep", "-lE", WORDS, revision).decode(errors="replace").splitlines()
    paths = [item.removeprefix(f"{revision}:") for item in listed]
    by_folder: dict[str, list[str]] = {}
    for path in paths:
        if Path(path).suffix not in SOURCES:
            by_folder.setdefault("/".join(path.split("/")[:3]), []).append(path)
    picked = []
    for items in by_folder.values():
        step = max(1, len(items) // count)
        picked += items[::step][:count]
    return picked


def verdict(folder: Path, revision: str, path: str) -> tuple[str, str]:
    """Return ``read`` or ``refused``, and what of it or why."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / Path(path).name
        copy.write_bytes(git(folder, "show", f"{revision}:{path}"))
        try:
            reading = read_file(copy)
        except FileError as error:
            return "refused", str(error).replace(f"{scratch}/", "").replace("|", "/")
    counts = Counter(
        f"{item.benchmark} ({item.tool}, p={item.processes}, {len(item.values)} values)"
        for item in reading.series
    )
    facts = [f"{fact.key} = {fact.value}" for fact in reading.facts]
    texts = [text if number == 1 else f"{number} x {text}" for text, number in counts.items()]
    notes = f"; {len(reading.notes)} notes" if reading.notes else ""
    return "read", ", ".join([*texts[:4], *facts]) + (" ..." if len(texts) > 4 else "") + notes


def main(mirrors: Path, count: int) -> None:
    """Print the table."""
    rows: list[str] = []
    totals: Counter[str] = Counter()
    for repository in REPOSITORIES:
        name, _, commit = repository.partition("@")
        revision = commit or "HEAD"
        root = mirrors / name.replace("/", "+") / "repo"
        folder = root / ".git" if (root / ".git").exists() else root
        for path in chosen(folder, revision, count):
            word, text = verdict(folder, revision, path)
            totals[word] += 1
            rows.append(f"| {name} | {path} | {word} | {text} |")
    print("# Real outputs\n")
    print(f"{totals.total()} files: {totals['read']} read, {totals['refused']} refused.\n")
    print("| repository | file | | what |\n|---|---|---|---|")
    print("\n".join(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
