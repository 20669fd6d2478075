"""Files that are there whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from parcast.errors import FileError
from parcast.files import check_file, check_folder, check_suffix, whole_file, write_text


def test_a_link_stays_one_and_permissions_are_kept(tmp_path):
    private, link = tmp_path / "private.toml", tmp_path / "link.toml"
    private.write_text("before")
    private.chmod(0o600)
    link.symlink_to(private)
    write_text(link, "after")
    assert link.is_symlink()
    assert private.read_text() == "after"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def write_half(path):
    with whole_file(path) as part:
        part.write_text("half")
        raise OSError("broken")


def test_nothing_is_left_of_a_file_that_is_not_whole(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("before")
    with pytest.raises(FileError, match="cannot be written: broken"):
        write_half(path)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["x.toml"]


def test_a_device_is_written_to():
    write_text(Path(os.devnull), "x")
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(("name", "reason"), [("no/x.toml", "no folder"), (".", "it is a folder")])
def test_what_cannot_be_written_is_told_before(tmp_path, name, reason):
    with pytest.raises(FileError, match=reason):
        check_folder(tmp_path / name)


GRAPHS = (".svg", ".png", ".dot")


@pytest.mark.parametrize(
    ("name", "suffixes", "sentence"),
    [
        ("x.sgv", GRAPHS, "x.sgv: a graph is written as .svg, .png or .dot. Did you mean '.svg'?"),
        ("x.csv", [".toml"], "x.csv: a graph is written as .toml. Did you mean 'x.toml'?"),
        ("x", GRAPHS, "x: a graph is written as .svg, .png or .dot."),
        ("", [".toml"], ".: a graph is written as .toml."),
        ("..", [".toml"], "..: a graph is written as .toml."),
    ],
)
def test_another_suffix_is_refused_with_those_that_can_be(name, suffixes, sentence):
    with pytest.raises(FileError) as refused:
        check_suffix(Path(name), "a graph", suffixes)
    assert str(refused.value) == sentence


def test_a_file_is_checked_before_anything_is_computed_for_it(tmp_path):
    check_file(tmp_path / "x.SVG", "a graph", GRAPHS)
    with pytest.raises(FileError, match="there is no folder"):
        check_file(tmp_path / "none" / "x.svg", "a graph", GRAPHS)
    (tmp_path / "x.svg").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        check_file(tmp_path / "x.svg", "a graph", GRAPHS)
