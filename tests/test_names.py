"""Names say what they hold: those that say nothing stay rare in every member."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MEMBERS = [ROOT / "core", *sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))]

VAGUE = {
    "one", "ones", "found", "made", "said", "given", "told", "known", "kept", "some", "other",
    "rest", "much", "more", "most", "own", "held", "taken", "asked", "named", "done", "shown",
    "here", "there", "each", "every", "what", "whose",
}  # fmt: skip

#: The share of bound names, parameters included, that may say nothing.
MOST = 0.01


def bound_names(tree: ast.AST) -> Counter[str]:
    """Return how often each name is bound: assigned, looped over, or a parameter."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.arg):
            names[node.arg] += 1
    return names


@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_names_say_what_they_hold(member: Path) -> None:
    names: Counter[str] = Counter()
    for path in (member / "src").rglob("*.py"):
        names += bound_names(ast.parse(path.read_text(encoding="utf-8")))
    vague = Counter({name: count for name, count in names.items() if name.strip("_") in VAGUE})
    assert vague.total() <= MOST * names.total(), vague.most_common(9)


def test_parameters_and_loops_are_counted() -> None:
    tree = ast.parse("def f(one, *, given=1):\n    for found in one: made = found")
    assert bound_names(tree) == {"one": 1, "given": 1, "found": 1, "made": 1}
