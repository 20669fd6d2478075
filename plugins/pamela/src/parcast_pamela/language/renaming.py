"""Names of an import under its prefix."""

from __future__ import annotations

from typing import Any

import attrs

from parcast_pamela.language.tree import (
    INFINITE,
    Apply,
    Assume,
    Call,
    Declaration,
    Item,
    Loop,
    Multiplicity,
    Name,
    Reduce,
    Resource,
    Root,
    Use,
)


def with_prefix(declared: list[Declaration], prefix: str) -> list[Declaration]:
    """Return declarations whose names, and all uses of them, start with ``prefix.``."""
    names = {
        declaration.name  # type: ignore[union-attr]
        for declaration in declared
        if not isinstance(declaration, Assume | Root)
    }
    renamed = []
    for declaration in declared:
        if isinstance(declaration, Root):
            continue
        bound = set(getattr(declaration, "formals", ()))
        if isinstance(declaration, Resource):
            bound |= set(filter(None, declaration.labels))
        new = _renamed(declaration, names - bound, prefix)
        if not isinstance(declaration, Assume):
            new = attrs.evolve(new, name=f"{prefix}.{declaration.name}")  # type: ignore[union-attr]
        renamed.append(new)
    return renamed


def _renamed(node: Any, names: set[str], prefix: str) -> Any:
    inner = names - {node.index} if isinstance(node, Loop | Reduce) else names
    changes: dict[str, Any] = {}
    for field in attrs.fields(type(node)):
        value = getattr(node, field.name)
        within = inner if field.name == "body" else names
        if field.name == "position" or value is INFINITE:
            continue
        if attrs.has(type(value)):
            changes[field.name] = _renamed(value, within, prefix)
        elif isinstance(value, tuple) and any(attrs.has(type(item)) for item in value):
            changes[field.name] = tuple(
                _renamed(item, within, prefix) if attrs.has(type(item)) else item for item in value
            )
    if isinstance(node, Name | Item | Apply | Call) and node.name in names:
        changes["name"] = f"{prefix}.{node.name}"
    if isinstance(node, Use | Multiplicity) and node.resource in names:
        changes["resource"] = f"{prefix}.{node.resource}"
    return attrs.evolve(node, **changes) if changes else node
