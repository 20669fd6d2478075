"""What a user names as a trace: files, folders, patterns and archives, packed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from parcast.cli import main
from parcast.errors import FileError
from parcast_traces.readers import read_trace, unpacking
from parcast_traces.trace.columns import BYTES

TIT = "0 init\n0 compute 1e6\n0 send 1 0 1e3\n1 init\n1 recv 0 0 1e3\n0 finalize\n1 finalize\n"
RANKS = {
    "run-0.txt": "0 init\n0 compute 1e6\n0 send 1 0 1e3\n0 finalize\n",
    "run-1.txt": "1 init\n1 recv 0 0 1e3\n1 finalize\n",
}


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").compress(data)


PACKINGS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


def archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as opened:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            opened.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def facts(path: Path) -> tuple[object, ...]:
    trace = read_trace(path)
    return trace.size, trace.count, trace.ends.tolist(), trace.about["format"]


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.tit"
    path.write_text(TIT)
    return facts(path)


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_packed_file_is_read_as_it_is_unpacked(tmp_path, plain, packing):
    path = tmp_path / f"run.tit.{packing}"
    path.write_bytes(PACKINGS[packing](TIT.encode()))
    assert facts(path) == plain
    assert read_trace(path).where == str(path)
    half = PACKINGS[packing](TIT[:40].encode()), PACKINGS[packing](TIT[40:].encode())
    path.write_bytes(b"".join(half))  # as `cat` joins them
    assert facts(path) == plain


@pytest.mark.parametrize("packing", [*PACKINGS, None])
def test_folders_patterns_and_archives_are_the_files_in_them(tmp_path, plain, packing):
    folder = tmp_path / "run"
    folder.mkdir()
    pack, suffix = (PACKINGS[packing], f".{packing}") if packing else (bytes, "")
    for name, text in RANKS.items():
        (folder / (name + suffix)).write_bytes(pack(text.encode()))
    (folder / "README.md").write_text("of a run")
    assert facts(folder) == facts(folder / "run-?.*") == plain
    assert read_trace(folder).about["files that are no traces"] == "README.md"
    index = folder / "index"  # as it stands in SimGrid's examples: from the folder above
    index.write_text("".join(f"run/{name}\n" for name in RANKS))
    if not packing:
        assert facts(index) == plain
    (tmp_path / "run.tar").write_bytes(pack(archive(RANKS)))
    assert facts(tmp_path / "run.tar") == plain


def test_the_content_says_the_format_and_the_suffix_only_hints(tmp_path, plain):
    for name in ("run", "run.dat", "run.json", "run.goal", "run.otf2"):
        (tmp_path / name).write_text(TIT)
        assert facts(tmp_path / name) == plain
    (tmp_path / "note.dat").write_text("nothing of a trace")
    with pytest.raises(FileError, match=r"it begins as no format .* the suffix '.dat'"):
        read_trace(tmp_path / "note.dat")


def test_files_of_one_run_lie_beside_a_packed_one(tmp_path):
    files = Path(__file__).parents[2] / "perturb" / "tests" / "files" / "dumpi"
    for file in files.glob("*.txt"):
        (tmp_path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert facts(tmp_path / "calls-0002.txt.gz") == facts(files / "calls-0000.txt")


def test_what_is_no_trace_or_several_is_refused(tmp_path):
    with pytest.raises(FileError, match="no file matches it"):
        read_trace(tmp_path / "run-*.json")
    with pytest.raises(FileError, match="0 files, and none is of a trace"):
        read_trace(tmp_path)
    (tmp_path / "a.tit").write_text(TIT)
    (tmp_path / "b.tit").write_text(TIT)
    with pytest.raises(FileError, match=r"b.tit:1: rank 0 begins here and at .*a.tit:1"):
        read_trace(tmp_path)
    (tmp_path / "b.tit").write_text("num_ranks 1\nrank 0 { }\n")
    with pytest.raises(FileError, match=r"several formats: a.tit .* b.tit \(GOAL\)"):
        read_trace(tmp_path)


@pytest.mark.parametrize("packing", PACKINGS)
def test_damaged_packed_files_are_one_sentence(tmp_path, packing):
    data = PACKINGS[packing](TIT.encode() * 200)
    path = tmp_path / f"run.tit.{packing}"
    for damaged in (data[:-12], data[:20], data[:12] + b"\xff" * 9 + data[21:]):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=f"run.tit.{packing}"):
            read_trace(path)


def test_errors_name_the_packed_file(tmp_path):
    path = tmp_path / "run.tit.gz"
    path.write_bytes(gzip.compress(b"0 init\n0 jump\n"))
    with pytest.raises(FileError) as error:
        read_trace(path)
    assert str(error.value).startswith(f"{path}:2: there is no action 'jump'")
    (tmp_path / "run.tgz").write_bytes(gzip.compress(archive({"x/run.tit": "0 init\n0 jump\n"})))
    with pytest.raises(FileError, match=r"run\.tgz/x/run\.tit:2"):
        read_trace(tmp_path / "run.tgz")


def test_bombs_are_left_before_they_are_unpacked(tmp_path, monkeypatch):
    path, target = tmp_path / "bomb.goal.gz", tmp_path / "target"
    path.write_bytes(gzip.compress(b"\0" * (64 << 20)))
    with pytest.raises(FileError, match="begins as no format"):
        read_trace(path.rename(tmp_path / "bomb.gz"))
    path.write_bytes(gzip.compress(b"num_ranks 1\n" + b" \n" * (8 << 20)))
    with pytest.raises(FileError, match="has more than 1 MiB unpacked"):
        unpacking.unpack(path, target, 1 << 20, Mock())
    assert target.stat().st_size <= 1 << 20
    deep = {f"{number}.txt": "" for number in range(40)}
    (tmp_path / "many.tar").write_bytes(archive(deep))
    monkeypatch.setattr(unpacking, "_MOST_MEMBERS", 30)
    with pytest.raises(FileError, match="has more than 30 files"):
        read_trace(tmp_path / "many.tar")


def test_valid_lines_that_unpack_as_no_trace_does_are_left(tmp_path, monkeypatch):
    text = b"0 init\n" + b"0 compute 1000\n" * (1 << 18)
    packed, plain = tmp_path / "a.tit.gz", tmp_path / "b.tit"
    packed.write_bytes(gzip.compress(text))
    plain.write_bytes(text)
    monkeypatch.setattr(unpacking, "_LEAST_ROOM", 1 << 20)
    with pytest.raises(FileError, match=r"250 times as large unpacked.*unpack it and"):
        read_trace(packed)
    assert read_trace(plain).size == 1  # as the refusal says
    members = tmp_path / "c.tgz"
    members.write_bytes(gzip.compress(archive({f"{n}.tit": text.decode() for n in range(2)})))
    with pytest.raises(FileError, match="more than 250 times"):
        read_trace(members)


def test_no_member_of_an_archive_leaves_its_folder(tmp_path):
    evil = {"../outside.txt": TIT, "/etc/absolute.tit": TIT, "._run.tit": "\0"}
    path = tmp_path / "in" / "run.tar"
    path.parent.mkdir()
    path.write_bytes(archive(evil))
    assert read_trace(path).size == 2
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["run.tar"]


def test_show_says_what_is_in_a_file(tmp_path, capsys):
    path = tmp_path / "run.tit.gz"
    path.write_bytes(gzip.compress(TIT.encode()))
    assert main(["show", str(path)]) == 0
    text = capsys.readouterr().out
    for line in ("time-independent (SimGrid)", "ranks            2", "1 calls, 1,000 bytes",
                 "1000000 operations of all ranks"):  # fmt: skip
        assert line in text
    assert main(["show", str(tmp_path / "run.*.gz")]) == 0
    assert main(["show", str(tmp_path / "none.*.gz")]) == 2


def test_actions_of_one_rank_are_read_with_those_beside_them(tmp_path):
    for rank in range(3):
        text = f"{rank} init\n{rank} barrier\n{rank} finalize\n"
        (tmp_path / f"actions{rank}.txt").write_text(text)
    assert read_trace(tmp_path / "actions1.txt").size == 3
    (tmp_path / "run1.tit").write_text(TIT)
    (tmp_path / "run2.tit").write_text(TIT)  # another run
    assert read_trace(tmp_path / "run1.tit").size == 2


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("net.pnml", "<pnml/>", "petri solve"),
        ("net.xml", '<?xml version="1.0"?>\n<pnml xmlns="a"/>', "petri solve"),
        ("net.jsimg", "<pnml/>", "spmd network"),
        ("net.jmva", "<pnml/>", "spmd network"),
        ("times.csv", "p,time\n1,3 s\n", "scaling"),
        ("jobs.csv", "JobID|State|Elapsed\n1|COMPLETED|00:01:00\n", "scaling"),
        ("jobs.sacct", "State,JobIDRaw\nCOMPLETED,1\n", "scaling"),
        ("jobs.txt", "JobID  State  Elapsed\n-----  -----  -----\n", "scaling"),
        ("runs.txt", "# by hand\nPARAMETER p\nPOINTS 2 4\n", "scaling"),
        ("runs.jsonl", '{"params": {"p": 4}, "value": 1}\n', "scaling"),
        ("runs.json", '{"parameters": ["p"], "measurements": {}}', "scaling"),
    ],
)
def test_files_of_commands_name_them(tmp_path, capsys, name, text, command):
    path = tmp_path / name
    path.write_text(text)
    for arguments in (["show", str(path)], ["compare", str(path), "ibm-sp2"]):
        assert main(arguments) == 2
        assert f"give it to 'parcast {command} {path}'" in capsys.readouterr().err.replace(
            "\n", " "
        )


@pytest.mark.parametrize(
    "suffix",
    [
        "et",
        "prv",
        "goal",
        "tit",
        "txt",
        "otf2",
        "trace",
        "cali",
        "cubex",
        "sqlite",
        "sts",
        "csv",
        "json",
        "darshan",
    ],
)
def test_an_empty_file_is_called_empty(tmp_path, capsys, suffix):
    path = tmp_path / f"run-0.{suffix}"
    path.write_bytes(b"")
    assert main(["show", str(path)]) == 2
    assert f"{path} is empty" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("name", ["run.sqlite", "run-0.json", "run.txt", "run.prv", "net.jsimg"])
def test_a_pointer_of_git_lfs_is_no_file(tmp_path, capsys, name):
    path = tmp_path / name
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    assert main(["show", str(path)]) == 2
    assert "get the file by 'git lfs pull'" in capsys.readouterr().err.replace("\n", " ")


def test_lists_nested_deeply_are_called_so(tmp_path, capsys):
    path = tmp_path / "run-0.json"
    path.write_text('{"traceEvents":' + "[" * 100_000)
    assert main(["show", str(path)]) == 2
    assert "nested too deeply" in capsys.readouterr().err


def test_a_folder_is_shown_by_its_name_alone(tmp_path, monkeypatch, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "trace.tit").write_text(TIT)
    monkeypatch.chdir(tmp_path)
    assert main(["show", "run"]) == 0
    assert "time-independent (SimGrid)" in capsys.readouterr().out


def test_messages_of_older_replays_have_no_tag(tmp_path):
    path = tmp_path / "a.tit"
    path.write_text("0 init\n1 init\n0 send 1 1000\n1 recv 0 1000\n0 finalize\n1 finalize\n")
    trace = read_trace(path)
    assert (trace.channels.tag.tolist(), trace.events.times[:, BYTES].sum()) == ([0], 1000)
