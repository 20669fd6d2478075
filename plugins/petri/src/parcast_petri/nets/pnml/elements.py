"""Elements of PNML files, whatever their namespaces."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from parcast.errors import FileError, did_you_mean


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


def chosen_net(nets: list[ET.Element], name: str | None) -> ET.Element:
    """Return the net of a name or id, or the only one."""
    if name is None and len(nets) == 1:
        return nets[0]
    ids = [net.get("id") or "" for net in nets]
    labels = [title(net) for net in nets]
    found = [net for net, *words in zip(nets, ids, labels, strict=True) if name in words]
    if name is None or len(found) != 1:
        several = "several nets" if len(found) > 1 else "no net" if name else f"{len(nets)} nets"
        called = f" called {name!r}" if name else ""
        known = ", ".join(f"#{id_}" for id_ in ids[:10])
        hint = did_you_mean(name, [*ids, *labels]) if name else ""
        raise FileError(f"the file has {several}{called}; name one after it, of {known}.{hint}")
    return found[0]


def title(net: ET.Element) -> str:
    """Return the name of a net, "" where it has none; TAPAAL says some twice."""
    texts = {
        (child.findtext("{*}text") or child.text or "").strip() for child in children(net, "name")
    }
    return texts.pop() if len(texts) == 1 else ""
