"""Attributes and numbers of XML elements, with their position."""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree as ET

from parcast.errors import FileError

Element = ET.Element


class PetriPartError(FileError):
    """A place or a transition, which only a chain of states follows."""


def attribute(element: Element, name: str, where: str) -> str:
    """Return an attribute that must be there."""
    value = element.get(name)
    if value is None or not value.strip():
        raise FileError(f"{where}: <{element.tag}> has no attribute {name}; add it.")
    return value


def number(text: str | None, where: str) -> float:
    """Return a finite number of 0 or more."""
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        stripped = (text or "").strip()
        raise FileError(f"{where} is {stripped!r}; give a finite number, 0 or more.")
    return value


def whole(text: str | None, where: str) -> int:
    """Return a whole number of 0 or more; JMT writes some as 3.0."""
    value = number(text, where)
    if not value.is_integer():
        raise FileError(f"{where} is {text!r}; give a whole number.")
    return int(value)


def refuse_others(parent: Element, tags: Iterable[str], where: str) -> None:
    """Refuse a child that says something these models do not follow."""
    for child in parent:
        if child.tag not in tags:
            raise FileError(
                f"{where}: <{child.tag}> in <{parent.tag}> is not supported here; remove it, or "
                "simulate the model."
            )
