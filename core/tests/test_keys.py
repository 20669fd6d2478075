"""``parcast show PART``: every key of a part or a kind, with what it takes and is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import attrs
import pytest

from parcast import Formula, Machine, Unit, Whole
from parcast.cli import app as command
from parcast.cli.keys import Key, keys
from parcast.quantities import Distribution

NONE = Unit("1")


@attrs.frozen(kw_only=True)
class Inner:
    size: Annotated[float, Unit("B", positive=True)]  #: of a block
    law: Annotated[Distribution, Unit("s")] = Distribution.read("exp:2s", "s")


@attrs.frozen(kw_only=True)
class Base:
    name: str = ""  #: of the base: "#: in text"


@attrs.frozen(kw_only=True)
class Table(Base):
    """A table."""

    # an ordinary comment
    wait: Annotated[float, Unit("s")] = 1.5
    #: over
    #: two lines
    rate: Annotated[float, Unit("1/s")] | None = None
    text: str = "#: no comment"
    count: Annotated[int, Whole(1)]  #: how many
    amount: Annotated[Formula, NONE] = Formula.read("2*p", NONE)
    mode: Literal["a", "b"] = attrs.field(
        default="a",
        converter=str,  # an ordinary comment
    )  #: which
    rest: Mapping[str, Any] = attrs.field(factory=dict)
    one: Inner | None = None
    several: tuple[Inner, ...] = ()
    flag: bool = False
    other: Machine | None = None
    _hidden: int = 0

    @property
    def half(self) -> float:
        #: this is of no field
        return self.wait / 2


@attrs.frozen(kw_only=True)
class Tree:
    left: Tree | None = None  #: of a tree
    value: Annotated[float, NONE]


def test_each_key_says_what_it_takes_and_is():
    found = {key.name: key for key in keys(Table)}
    assert next(iter(found)) == "name"
    assert found["name"].meaning == 'of the base: "#: in text"'
    assert found["wait"] == Key("wait", "a number of s", "s", "1.5 s", "")
    assert found["rate"] == Key("rate", "a number of 1/s", "1/s", "", "over two lines")
    assert found["text"] == Key("text", "text", "", "#: no comment", "")
    assert found["count"] == Key("count", "a whole number, 1 or more", "", "required", "how many")
    assert found["amount"] == Key("amount", "a formula", "", "2*p", "")
    assert found["mode"] == Key("mode", "a, b", "", "a", "which")
    assert found["flag"].default == "false"
    assert found["other"].takes == "a machine"
    size = Key("one.size", "a number of B, above 0", "B", "required", "of a block")
    assert found["one.size"] == size
    assert found["several[].size"] == attrs.evolve(size, name="several[].size")
    assert found["several[].law"].default == "exp:2"
    assert {"rest", "several[].size"} <= found.keys()
    assert {"hidden", "_hidden", "one", "half"}.isdisjoint(found)
    assert [key.name for key in keys(Table) if key.required] == [
        "count", "one.size", "several[].size",
    ]  # fmt: skip


def test_a_table_within_itself_ends():
    assert [key.name for key in keys(Tree)] == ["left", "value"]


def test_a_class_without_source_has_no_meanings():
    made = attrs.make_class("Made", {"a": attrs.field(type=float, default=1.0)}, frozen=True)
    assert list(keys(made)) == [Key("a", "a number", "", "1", "")]


def test_show_lists_the_keys_of_a_part(capsys):
    assert command.main(["show", "storage"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("storage (part of machines): How fast the disks are.\n")
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in out.splitlines() if line}
    assert lines["key"] == "takes default meaning"
    assert lines["bandwidth"] == "a number of B/s, above 0 optional of one disk"
    assert lines["startup"] == "a number of s 0 s per access"


def test_show_lists_the_keys_of_a_kind_as_json(capsys):
    assert command.main(["show", "phases", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (table,) = shown["tables"]
    (parallel,) = [key for key in table["keys"] if key["name"] == "phase[].parallel"]
    assert (table["is"], parallel["unit"], parallel["required"]) == ("kind", "FLOP", False)


def test_show_says_in_which_files_a_kind_stands(capsys):
    assert command.main(["show", "program"]) == 0
    assert capsys.readouterr().out.endswith("It is in .py files.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nodez"], "Did you mean 'nodes'?"),
        (["storage", "-p", "4"], "storage is a part; -p and --set show what a program does"),
        (["phases", "--set", "n=4"], "phases is a kind; -p and --set show what a program does"),
    ],
)
def test_what_show_cannot_do_is_said(capsys, arguments, sentence):
    assert command.main(["show", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_show_says_once_what_summary_and_description_share(capsys):
    assert command.main(["show", "cost"]) == 0
    assert capsys.readouterr().out.count("What a node costs for an hour.") == 1
