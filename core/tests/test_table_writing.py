"""Tables as TOML text, which reads back as the same data, with comments at their keys."""

from __future__ import annotations

import copy
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parcast.errors import FileError
from parcast.files import table_text

TEXTS = st.text(st.characters(codec="utf-8"))
KEYS = st.one_of(st.sampled_from(["a", "b-1", "c.d", "", "#", "[x]", "\x7f"]), TEXTS)
LEAVES = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=4)


def places(value, place=()):
    """Yield the places that have a line of their own, of values and of tables."""
    if isinstance(value, dict):
        if place:
            yield place
        for key, item in value.items():
            yield from places(item, (*place, key))
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from places(item, (*place, index))
    else:
        yield place


def spelled(value):
    """Return a value as Python writes it, the keys of tables in order."""
    if isinstance(value, dict):
        return str([(key, spelled(value[key])) for key in sorted(value)])
    return str(list(map(spelled, value))) if isinstance(value, list) else repr(value)


@given(TABLES)
@example({"name": "Rechner \N{GRINNING FACE}", "x": '\x7f\x00\x1f"\\\u2028\r\n'})
@example({"a": {"b": {"c": 1}}, "d": [{"e": [{"f": 1}, {}]}, {"g": {}}], "h": [[{}], {"i": 1}, 2]})
@example({"limits": [1e22, 5e-324, float("inf"), -0.0, -(2**63)]})
def test_a_table_comes_back_as_it_was(data):
    read = tomllib.loads(table_text(data))
    assert read == data
    assert spelled(read) == spelled(data)  # 1 stays 1, and is neither 1.0 nor true


@given(TABLES.filter(bool), TEXTS.filter(str.strip), st.data())
def test_comments_stand_at_their_keys_and_change_nothing(data, words, draw):
    comments = dict.fromkeys(places(data), words)
    assert tomllib.loads(table_text(data, comments)) == data
    place = draw.draw(st.sampled_from(sorted(comments, key=repr)))
    plain, commented = (table_text(data, c).split("\n") for c in ({}, {place: "here"}))
    target, changed = data, copy.deepcopy(data)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    for key in place:
        target = target[key]
    if isinstance(target, dict):
        header = commented[commented.index("# here") + 1]
        keys = tomllib.loads(header)
        for key in place:
            keys = keys if isinstance(key, int) else keys[key]
        assert keys in ({}, [{}])
        return
    (line,) = (n for n, text in enumerate(commented) if text != plain[n])
    assert commented[line] == f"{plain[line]}  # here"
    parent[place[-1]] = "another value"
    another = table_text(changed).split("\n")
    assert [n for n, text in enumerate(another) if text != plain[n]] == [line]


def test_it_reads_like_a_file_written_by_hand():
    data = {
        "name": "m",
        "network": {"startup": "6 us", "bandwidth": "1 GB/s"},
        "phase": [{"parallel": 1.0}, {"serial": 2}],
        "sources": {"network.startup": "measured"},
    }
    comments = {("network",): "of one pair\nof nodes", ("network", "startup"): "short"}
    assert (
        table_text(data, comments)
        == """\
name = "m"

# of one pair of nodes
[network]
startup = "6 us"  # short
bandwidth = "1 GB/s"

[[phase]]
parallel = 1.0

[[phase]]
serial = 2

[sources]
"network.startup" = "measured"
"""
    )


HALF = "\ud83d"


@pytest.mark.parametrize(
    ("data", "comments"), [({"x": HALF}, {}), ({HALF: 1}, {}), ({"x": 1}, {("x",): HALF})]
)
def test_half_a_character_is_refused(data, comments):
    with pytest.raises(FileError, match="half a character"):
        table_text(data, comments)


@pytest.mark.parametrize("value", [None, object(), {1: 2}, [None]])
def test_what_toml_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match=r"TOML can hold|no key of a table"):
        table_text({"x": value})
