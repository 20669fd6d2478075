"""Nests of loops, triangular and rectangular, against a plain reference of their own."""

from __future__ import annotations

import re
from functools import cache
from random import Random

import pytest

from parcast.testing import cases, seeds
from parcast_pamela.algebra import extremes, forms, kernel, signs
from parcast_pamela.algebra.kernel import Kernel
from parcast_pamela.compilation.checked import compile_checked
from parcast_pamela.compilation.compiler import compile_model
from parcast_pamela.language.errors import ModelError, ModelValueError, TooLargeError
from parcast_pamela.language.model import link
from parcast_pamela.language.parser import parse
from parcast_pamela.language.reading import model_of

from .plain_models import HEAD, RefusedError, draw_model, draw_point, quantities, text

MODELS, CHUNK, POINTS = cases(20), 10, 5


@cache
def head():
    return parse(HEAD)[0]


def nested(source):
    return link("nest", [*head(), *parse(f"L = {source}")[0]], lambda _: None)


def check(node, points, make=compile_model):
    """Compare formulas with the reference; what has no value there has none by the formulas."""
    model = nested(text(node))
    try:
        compiled = make(model)
    except TooLargeError:
        return
    except ModelError:
        refusals = [refused(node, point) for point in points]
        assert all(refusals), text(node)
        return
    for point in points:
        if refused(node, point):
            with pytest.raises(ModelValueError):
                compiled.values(point)
            continue
        expected, found = quantities(node, point), compiled.values(point)
        for name in ("critical_path", "bound", "upper"):
            assert getattr(found, name) == getattr(expected, name), (name, text(node), point)
        assert found.contention == expected.contention(point), (text(node), point)


def refused(node, point):
    try:
        quantities(node, point)
    except RefusedError:
        return True
    return False


@pytest.mark.parametrize("chunk", range(MODELS // CHUNK))
def test_formulas_of_nests_equal_their_loops(chunk):
    for seed in seeds(MODELS)[chunk * CHUNK : (chunk + 1) * CHUNK]:
        draw = Random(seed)
        node = draw_model(draw)
        check(node, [draw_point(draw) for _ in range(POINTS)])


def test_a_model_whose_formulas_need_more_room_than_there_is_is_refused(monkeypatch):
    monkeypatch.setattr(kernel, "MOST_TERMS", 20_000)
    with pytest.raises(TooLargeError, match="let a parameter stand for a part of it"):
        compile_model(nested(
            "par (i = 2, floor(N/2)) seq (j = N-4, N) par (k = i+i, P-1) {"
            " use(uneven[2*j-P], ts*min(abs(M*k-i-j), P));"
            " use(grid[(2*j-2*k+M*i) mod 2+floor((i+3*j+k)/2), floor((2*i-2*j+k)/M) mod 4], tb) }"
        ))  # fmt: skip


DECLARED = "param N : int >= 0, P : int >= 1, tb : time\nresource r[0..400], ring[0..P-1]\n"
#: A time by one index on an instance by another, and the values of N, P and tb
FOUND = {
    # a minimum to the first and second power was taken for one factor of it, which is 0
    "triangle": (
        "L = par (i = 1, P) par (j = i, N) use(r[j], tb*i)",
        {"N": 6, "P": 5, "tb": 7}, 105, 105,
    ),
    "blocks": (
        "L = seq (i = 0, N) par (j = 0, N) use(r[floor(j/2)], tb*max(0, j-i))",
        {"N": 6, "P": 1, "tb": 7}, 175, 189,
    ),
    # a floor squared is no block
    "squares": ("L = par (i = -N, N) use(r[floor(i/2)^2], tb)", {"N": 4, "P": 1, "tb": 1}, 4, 4),
    # the instances were numbered by the loop's own index, the range being the same
    "same range": (
        "L = seq (i = 0, 400) { use(r[i], tb) || use(r[floor(i/2)], 2*tb) }",
        {"N": 1, "P": 1, "tb": 1}, 5, 803,
    ),
    # and so were the iterations on the two sides of where a maximum changes its arm
    "equal loops": (
        "L = seq (i = 1, N) par (j = 1, N) use(r[j], tb*max(i, j))",
        {"N": 3, "P": 1, "tb": 1}, 9, 9,
    ),
    # an index that came into a maximum was taken for the one that is bound there
    "index bound within": (
        ("L = seq (i = -N, P-1) par (j = i, P) if (j <= i)"
        " use(ring[((3*j+1) mod 2) mod P], tb*max(0, 2*i+1)*max(0, -i))"),
        {"N": 3, "P": 3, "tb": 1}, 0, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("name", FOUND)
def test_what_was_wrong_in_a_nest(name, simplify):
    source, point, contention, bound = FOUND[name]
    found = compile_model(model_of(DECLARED + source), simplify=simplify).values(point)
    assert (found.contention, found.bound) == (contention, bound)


def first_power(one, atom):
    """`terms.split` as it was: every power of a factor taken for one of it."""
    kernel, factor, rest = one.kernel, [], []
    for monomial, coefficient in one.terms:
        others = tuple(pair for pair in monomial if pair[0] is not atom)
        part = kernel.monomial(others, coefficient)
        (factor if len(others) < len(monomial) else rest).append(part)
    return kernel.total(factor), kernel.total(rest)


def index_of_range(self, index, low, high, *_):
    """`IndexForms.index_over` as it was: of what the bodies hold nothing is avoided."""
    return self.kernel.index(low, high, [*low.free, *high.free, index])


def index_of_level(self, low, high, avoiding=(), right=Kernel.index):
    """`Kernel.index` as it was used for labels and for what is bound: it avoids nothing."""
    return right(self, low, high)


#: Mistakes that were mended, put back, and what they make wrong
MISTAKES = {
    "powers": (
        [(module, "split", first_power) for module in (extremes, forms, signs)],
        {"triangle", "squares"},
    ),
    "ranges": ([(forms.IndexForms, "index_over", index_of_range)], {"blocks", "equal loops"}),
    "names": ([(Kernel, "index", index_of_level)], {"blocks", "same range"}),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_compiler_finds_a_mistake_by_its_own_check(mistake, name, monkeypatch):
    places, wrong = MISTAKES[mistake]
    for owner, attribute, function in places:
        monkeypatch.setattr(owner, attribute, function)
    source, point, *values = FOUND[name]
    model = model_of(DECLARED + source)
    found = compile_model(model).values(point)
    assert ([found.contention, found.bound] != values) == (name in wrong)
    for seed in range(3) if name in wrong else ():
        assert re.search("simplified formula was wrong at {|differ from enum", verdict(model, seed))


def verdict(model, seed):
    """Return the note of the check, or the refusal where the plain form is wrong too."""
    try:
        return compile_checked(model, seed=seed).notes[0]
    except ModelError as error:
        return str(error)
