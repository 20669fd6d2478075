"""Files that are there whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from parcast.errors import FileError
from parcast.files import check_folder, whole_file, write_text


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
