"""XML as elements, without what an enemy may put into it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.parsers import expat

from parcast.errors import FileError

#: Files with more bytes are refused; a net of a million nodes has some 200 MB.
_LARGEST = 512 << 20
_DEEPEST = 200


def parse(path: Path) -> ET.Element:
    """Return the root element of a file.

    Document types, and with them entities, are refused: no PNML file needs one.

    Raises
    ------
    FileError
        If it is no XML, or has a document type.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _LARGEST else b""
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    if size > _LARGEST:
        raise FileError(f"{path} has {size:,} bytes, more than the {_LARGEST:,} that are read")
    builder, depth = ET.TreeBuilder(), [0]
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def doctype(*_: object) -> None:
        raise FileError(
            f"{path}:{parser.CurrentLineNumber}: the file declares a document type, which may hide "
            "entities that grow without end; take the declaration out"
        )

    def start(tag: str, attributes: dict[str, str]) -> None:
        depth[0] += 1
        if depth[0] > _DEEPEST:
            raise FileError(
                f"{path}:{parser.CurrentLineNumber}: elements nest over {_DEEPEST} deep"
            )
        builder.start(_qualified(tag), {_qualified(k): v for k, v in attributes.items()})

    def end(tag: str) -> None:
        depth[0] -= 1
        builder.end(_qualified(tag))

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise FileError(f"{path}: this is no XML: {error}") from None


def _qualified(name: str) -> str:
    return "{" + name if "}" in name else name


def local(element: ET.Element) -> str:
    """Return the tag of an element without its namespace."""
    return element.tag.rpartition("}")[2]


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
