"""Elements of PNML files, whatever their namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from parcast.errors import FileError


def local(element: ET.Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


#: Arcs of PNML, and those that TAPAAL's engines write; without intervals of ages they are the same.
ARCS = ("arc", "inputArc", "outputArc", "inhibitorArc")


def is_arc(element: ET.Element) -> bool:
    """Whether an element is an arc."""
    return local(element) in ARCS


def children(element: ET.Element, tag: str) -> Iterator[ET.Element]:
    """Yield the child elements of a tag."""
    return (node for node in element if local(node) == tag)


def child(element: ET.Element, tag: str) -> ET.Element | None:
    """Return the first child element of a tag."""
    return next(children(element, tag), None)


def label(element: ET.Element, tag: str) -> str | None:
    """Return the text of a label: in ``text`` (ISO), in ``value`` (PIPE) or bare.

    Raises
    ------
    FileError
        If it is there twice, so that one of them would be lost.
    """
    labels = list(children(element, tag))
    texts = [node for labelled in labels for node in labelled if local(node) in ("text", "value")]
    if len(labels) > 1 or len(texts) > 1:
        raise FileError(f"{local(element)} {element.get('id')!r} has its {tag} twice; keep one")
    if not labels:
        return None
    return ((texts or labels)[0].text or "").strip()
