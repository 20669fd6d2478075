"""XML files: read without any of XML's dangers, and numbers in them with their position."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from parcast.errors import FileError

Element = ET.Element


def read_xml(path: Path) -> Element:
    """Return the root element of a file.

    Raises
    ------
    FileError
        If it cannot be read, is not well-formed, or declares entities, which no model needs.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise FileError(f"{path} is a directory; name a file in it.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileError(f"{path} cannot be read: {reason}; check its name.") from None
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise FileError(f"{path} declares a document type or entities; remove them.")
    try:
        return ET.fromstring(content)  # noqa: S314  (without a document type there is no bomb)
    except (ET.ParseError, ValueError, LookupError) as error:
        raise FileError(f"{path} is not XML: {error}; mend it there.") from None


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
                f"{where}: <{child.tag}> in <{parent.tag}> is not followed here; the file must "
                "hold a closed network of delays and single servers."
            )
