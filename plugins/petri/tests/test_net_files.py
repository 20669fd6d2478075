"""Nets from JSON, and what is said about wrong ones."""

from __future__ import annotations

import pytest

from parcast.errors import FileError
from parcast_petri.nets.net_files import read_json


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("{", "no JSON"),
        ("[]", "must be an object"),
        ('{"places": 1, "transitions": []}', "places must be a list"),
        ('{"transitions": {}}', "transitions must be a list"),
        ('{"transition": []}', "Did you mean 'transitions'"),
        ('{"transitions": [{}]}', r"transitions\[0\] needs a name"),
        ('{"transitions": [{"name": "t", "delay": -1}]}', "'t' has a delay of -1"),
        ('{"transitions": [{"name": "t", "delay": "1 +"}]}', "no arithmetic"),
        ('{"transitions": [{"name": "t", "kind": "slow"}]}', "kind 'slow' must be one of"),
        ('{"transitions": [{"name": "t", "kind": "deterministic"}]}', "needs a delay"),
        ('{"transitions": [{"name": "t", "servers": "two"}]}', "servers 'two'"),
        ('{"transitions": [{"name": "t", "pre": {"a": 1}}]}', "names no place 'a'"),
        ('{"transitions": [{"name": "t", "pre": {"a": 1.5}}]}', "tokens are whole numbers"),
        ('{"places": ["a", "a"], "transitions": []}', "two places 'a'"),
        ('{"transitions": [{"name": "t", "delay": 1, "policy": "ps"}]}', "give the speed"),
    ],
)
def test_wrong_files_are_refused_in_a_sentence(tmp_path, text, message):
    path = tmp_path / "net.json"
    path.write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        read_json(path)
    assert str(path) in str(caught.value)
