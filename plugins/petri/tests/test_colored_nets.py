"""Colors: a net of finitely many is the place/transition net of all values of its variables."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from parcast.cli import main
from parcast.errors import FileError
from parcast.testing import seeds
from parcast_petri.nets.pnml import unfolding
from parcast_petri.nets.pnml.reading import read_pnml


def term(tag, *parts, **attributes):
    """Return a term of subterms."""
    words = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{tag}{words}>{''.join(f'<subterm>{part}</subterm>' for part in parts)}</{tag}>"


def variable(name):
    return f'<variable refvariable="{name}"/>'


def constant(name):
    return f'<useroperator declaration="{name}"/>'


def times(count, inner):
    return term("numberof", f'<numberconstant value="{count}"><positive/></numberconstant>', inner)


def every(sort):
    return f'<all><usersort declaration="{sort}"/></all>'


def enumeration(name, labels, tag="cyclicenumeration"):
    inside = "".join(f'<feconstant id="{name}{label}" name="{label}"/>' for label in labels)
    return f'<namedsort id="{name}" name="{name}"><{tag}>{inside}</{tag}></namedsort>'


def declared(*sorts, variables=()):
    inside = "".join(sorts) + "".join(
        f'<variabledecl id="{name}" name="{name}"><usersort declaration="{sort}"/></variabledecl>'
        for name, sort in variables
    )
    return (
        f"<declaration><structure><declarations>{inside}</declarations></structure></declaration>"
    )


def structured(tag, inside):
    return f"<{tag}><structure>{inside}</structure></{tag}>" if inside else ""


def place(name, sort, marking=""):
    return (
        f'<place id="{name}"><type><structure><usersort declaration="{sort}"/></structure></type>'
        f"{structured('hlinitialMarking', marking)}</place>"
    )


def transition(name, condition=""):
    return f'<transition id="{name}">{structured("condition", condition)}</transition>'


def arc(source, target, inscription, kind=""):
    extra = f'<type value="{kind}"/>' if kind else ""
    return (
        f'<arc id="{source}-{target}-{len(inscription)}" source="{source}" target="{target}">'
        f"{structured('hlinscription', inscription)}{extra}</arc>"
    )


def net(*parts, name="n"):
    return (
        f'<net id="{name}" type="http://www.pnml.org/version-2009/grammar/symmetricnet">'
        f"<page id='g'>{''.join(parts)}</page></net>"
    )


def read(tmp_path, *nets, name=None):
    path = tmp_path / "net.pnml"
    path.write_text(f"<pnml>{''.join(nets)}</pnml>")
    return read_pnml(path, name)


def reached(subject):
    """Return every marking, by a plain search."""
    seen = {tuple(sorted(subject.initial.items()))}
    ahead = list(seen)
    while ahead:
        marking = dict(ahead.pop())
        for one in subject.transitions:
            if all(marking.get(p, 0) >= n for p, n in one.pre.items()) and all(
                marking.get(p, 0) < n for p, n in one.inhibitor.items()
            ):
                after = dict(marking)
                for p, n in one.change().items():
                    after[p] = after.get(p, 0) + n
                key = tuple(sorted((p, n) for p, n in after.items() if n))
                if key not in seen:
                    seen.add(key)
                    ahead.append(key)
    return seen


def philosophers(count):
    """Return the dining philosophers: both forks at once, the own one and the next."""
    forks = term("add", times(1, variable("x")), times(1, term("successor", variable("x"))))
    return net(
        declared(enumeration("P", range(count)), variables=[("x", "P")]),
        place("think", "P", every("P")), place("fork", "P", every("P")), place("eat", "P"),
        transition("take"), transition("put"),
        arc("think", "take", times(1, variable("x"))), arc("fork", "take", forks),
        arc("take", "eat", times(1, variable("x"))), arc("eat", "put", times(1, variable("x"))),
        arc("put", "think", times(1, variable("x"))), arc("put", "fork", forks),
    )  # fmt: skip


@pytest.mark.parametrize(("count", "markings"), [(3, 4), (4, 7), (7, 29), (10, 123)])
def test_philosophers_reach_as_many_markings_as_lucas_counts(count, markings, tmp_path):
    """Sets of philosophers of whom no two neighbours eat: Lucas' numbers."""
    document = read(tmp_path, philosophers(count))
    assert (len(document.net.places), len(document.net.transitions)) == (3 * count, 2 * count)
    assert len(reached(document.net)) == markings
    assert f"become {3 * count} and {2 * count}" in document.notes[0]


def test_names_say_the_colors(tmp_path):
    subject = read(tmp_path, philosophers(3)).net
    assert subject.places[:3] == ("think(0)", "think(1)", "think(2)")
    take = next(one for one in subject.transitions if one.name == "take(x=2)")
    assert take.pre == {"think(2)": 1, "fork(2)": 1, "fork(0)": 1}
    assert take.post == {"eat(2)": 1}


CONDITIONS = {
    "equality": lambda x, y: x == y, "inequality": lambda x, y: x != y,
    "lessthan": lambda x, y: x < y, "greaterthan": lambda x, y: x > y,
    "lessthanorequal": lambda x, y: x <= y, "greaterthanorequal": lambda x, y: x >= y,
}  # fmt: skip


def random_condition(rng, depth):
    """Return a condition on x and y as a term and as a function."""
    if depth == 0 or rng.random() < 0.3:
        tag = rng.choice(list(CONDITIONS))
        ends = [rng.choice([("x", None), ("y", None), ("c", rng.randrange(4))]) for _ in "12"]
        words = [variable(n) if c is None else constant(f"A{c}") for n, c in ends]
        shift = rng.choice([0, 1, -1])
        if shift:
            words[0] = term("successor" if shift > 0 else "predecessor", words[0])

        def value(end, values):
            return values[end[0]] if end[1] is None else end[1]

        return term(tag, *words), lambda v: CONDITIONS[tag](
            (value(ends[0], v) + shift) % 4, value(ends[1], v)
        )
    tag = rng.choice(["and", "or", "not", "imply"])
    inner = [random_condition(rng, depth - 1) for _ in range(1 if tag == "not" else 2)]
    holds = {
        "and": lambda v: all(f(v) for _, f in inner), "or": lambda v: any(f(v) for _, f in inner),
        "not": lambda v: not inner[0][1](v),
        "imply": lambda v: not inner[0][1](v) or inner[-1][1](v),
    }[tag]  # fmt: skip
    return term(tag, *(words for words, _ in inner)), holds


def test_conditions_let_through_what_they_say(tmp_path):
    for seed in seeds(25):
        rng = Random(seed)
        words, holds = random_condition(rng, 3)
        count = rng.randint(1, 3)
        pair = term("tuple", variable("y"), variable("x"))
        subject = read(tmp_path, net(
            declared(
                enumeration("A", range(4)),
                '<namedsort id="AA" name="AA"><productsort><usersort declaration="A"/>'
                '<usersort declaration="A"/></productsort></namedsort>',
                variables=[("x", "A"), ("y", "A")],
            ),
            place("p", "A", every("A")), place("q", "AA"), transition("t", words),
            arc("p", "t", times(count, variable("x"))), arc("t", "q", times(1, pair)),
        )).net  # fmt: skip
        expected = {
            (x, y) for x, y in product(range(4), repeat=2) if holds({"x": x, "y": y})
        }  # fmt: skip
        arcs = {(tuple(t.pre.items()), tuple(t.post.items())) for t in subject.transitions}
        assert arcs == {(((f"p({x})", count),), ((f"q({y},{x})", 1),)) for x, y in expected}
        assert len(subject.transitions) == len(expected)


def test_bags_of_all_colors_products_ranges_and_less_are_read(tmp_path):
    less = term("subtract", every("R"), times(1, variable("x")))
    both = term("tuple", every("R"), constant("B1"))
    subject = read(tmp_path, net(
        declared('<namedsort id="R" name="R"><finiteintrange start="5" end="7"/></namedsort>',
                 enumeration("B", (0, 1), "finiteenumeration"),
                 '<namedsort id="RB" name="RB"><productsort><usersort declaration="R"/>'
                 '<usersort declaration="B"/></productsort></namedsort>', variables=[("x", "R")]),
        place("p", "R", times(2, '<finiteintrangeconstant value="6">'
                                 '<finiteintrange start="5" end="7"/></finiteintrangeconstant>')),
        place("q", "RB", times(3, both)), place("r", "dot", times(4, "<dotconstant/>")),
        transition("t"), arc("p", "t", less), arc("t", "q", term("tuple", variable("x"),
                                                                 constant("B0"))),
        arc("r", "t", times(2, "<dotconstant/>"), "inhibitor"),
    )).net  # fmt: skip
    assert subject.initial == {"p(6)": 2, "q(5,1)": 3, "q(6,1)": 3, "q(7,1)": 3, "r": 4}
    first = subject.transitions[0]
    assert (first.name, first.pre) == ("t(x=5)", {"p(6)": 1, "p(7)": 1})
    assert (first.post, first.inhibitor) == ({"q(5,0)": 1}, {"r": 2})


def test_times_go_to_every_instance(tmp_path):
    timed = '<transition id="take" distribution="constant" value="2.5"/>'
    text = philosophers(3).replace('<transition id="take"></transition>', timed)
    subject = read(tmp_path, text).net
    assert [t.delay for t in subject.transitions if t.name.startswith("take")] == [2.5] * 3


def test_one_of_several_nets_goes_by_its_name(tmp_path, capsys):
    several = (philosophers(2), philosophers(3).replace('id="n"', 'id="m"'))
    assert len(read(tmp_path, *several, name="m").net.places) == 9
    with pytest.raises(FileError, match="has 2 nets; name one after it, of #n, #m"):
        read(tmp_path, *several)
    with pytest.raises(FileError, match=r"no net called 'mm'.*Did you mean 'm'"):
        read(tmp_path, *several, name="mm")
    assert main(["petri", "prove", f"{tmp_path / 'net.pnml'}#m"]) in (0, 1)
    assert "colors are unfolded" in "".join(capsys.readouterr())


def test_an_unfolded_net_is_written_as_it_is_played(tmp_path):
    document = read(tmp_path, philosophers(3))
    copy = tmp_path / "copy.pnml"
    assert main(["petri", "net", str(tmp_path / "net.pnml"), "-o", str(copy)]) == 0
    assert read_pnml(copy).net == document.net


BIG = '<namedsort id="P" name="P"><finiteintrange start="1" end="1000000000"/></namedsort>'
THREE = philosophers(3)
ONE_X = times(1, variable("x"))
WIDE = '<namedsort id="W" name="W"><finiteintrange start="1" end="900"/></namedsort>'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (THREE.replace(enumeration("P", range(3)), BIG), "1,000,000,000 colors"),
        (THREE.replace('value="1"', 'value="1e9"', 1), "give a whole number"),
        (THREE.replace('value="1"', f'value="{"9" * 30}"', 1), "give a whole number"),
        (THREE.replace('refvariable="x"', 'refvariable="z"'), "variable 'z' is not declared"),
        (THREE.replace("<usersort", "<arbitrary", 1), "'x' is <arbitrary>"),
        (THREE.replace("<successor>", "<root>").replace("</successor>", "</root>"), "<root> in a"),
        (
            THREE.replace(ONE_X, term("subtract", ONE_X, every("P"))),
            "transition .take., place .think.: an inscription subtracts",
        ),
        (THREE.replace("P2", "P1"), "two constants of id 'P1'"),
        (THREE.replace(every("P"), constant("P9"), 1), "constant 'P9' is not declared"),
        (THREE.replace('declaration="P"/></structure>', 'declaration="dot"/></structure>', 1),
         "tokens that are not of its sort"),
        (THREE.replace(enumeration("P", range(3)), enumeration("P", range(3)).replace(
            "cyclicenumeration>", "string>")), "which is not finite"),
        (THREE.replace(enumeration("P", range(3)), '<namedsort id="P"><productsort>'
                       '<usersort declaration="P"/><usersort declaration="P"/></productsort>'
                       "</namedsort>"), "is made of itself"),
    ],
)  # fmt: skip
def test_what_is_too_large_or_unknown_is_refused(text, words, tmp_path):
    with pytest.raises(FileError, match=words):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ("MOST_TRIED", "too many values of its variables: more than 500 "),
        ("MOST_TRANSITIONS", "more than 500 transitions"),
        ("MOST_ARCS", "more than 500 arcs"),
        ("MOST_PLACES", "all places together more than 500"),
    ],
)
def test_what_grows_too_large_is_refused_before_it_is_built(bound, words, tmp_path, monkeypatch):
    monkeypatch.setattr(unfolding, bound, 500)
    text = net(
        declared(WIDE, variables=[(name, "W") for name in "xyz"]),
        place("p", "W"),
        transition("t"),
        *(arc("p", "t", times(i + 1, variable(name))) for i, name in enumerate("xyz")),
    )
    with pytest.raises(FileError, match=words):
        read(tmp_path, text)


def test_arcs_as_the_engines_of_tapaal_write_them_are_the_same(tmp_path):
    text = philosophers(3)
    for name in ("think", "eat", "fork"):
        text = text.replace(f'<arc id="{name}', f'<inputArc id="{name}')
    for name in ("take", "put"):
        text = text.replace(f'<arc id="{name}', f'<outputArc id="{name}')
    parts = text.split("</arc>")
    ends = ["inputArc" if "<inputArc" in part else "outputArc" for part in parts[:-1]]
    text = "".join(f"{part}</{end}>" for part, end in zip(parts, ends, strict=False)) + parts[-1]
    assert read(tmp_path, text).net == read(tmp_path, philosophers(3)).net


def test_bags_that_grow_too_large_are_refused_before_they_are_made(tmp_path):
    """Five of 900 colors are six hundred million million."""
    five = term("tuple", *[every("W")] * 5)
    with pytest.raises(FileError, match="bags of colors have more than 10,000,000"):
        read(tmp_path, net(declared(WIDE), place("p", "W", five)))
