"""Files that are there whole or not at all, and values as TOML writes them."""

import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parcast.errors import FileError
from parcast.files import check_folder, toml_value, whole_file, write_text


@given(st.text(st.characters(codec="utf-8")))
@example("Rechner \N{GRINNING FACE}")
@example('\x7f\x00\x1f"\\\u2028')
def test_a_text_comes_back_from_toml_as_it_was(text):
    assert tomllib.loads(f"x = {toml_value(text)}") == {"x": text}


@pytest.mark.parametrize("value", [True, 3, 0.25])
def test_numbers_and_truth_values_come_back(value):
    assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}


def test_half_a_character_is_refused():
    with pytest.raises(FileError, match="half a character"):
        toml_value("\ud83d")


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
