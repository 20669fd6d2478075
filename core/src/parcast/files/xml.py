"""XML files as elements, without what an enemy may put into them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET
from xml.parsers import expat

from parcast.errors import FileError

#: Files with more bytes are refused; a Petri net of a million nodes has some 200 MB.
_LARGEST = 512 << 20
_DEEPEST = 200


def read_xml(path: Path) -> ET.Element:
    """Return the root element of a file.

    Declarations within the file, and with them entities, are refused in any encoding: no model
    needs one. A document type that only names a file is read past; that file is never opened.

    Raises
    ------
    FileError
        If it is no XML, declares anything, or has an entity that XML itself does not have.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _LARGEST else b""
    except IsADirectoryError:
        raise FileError(f"{path} is a directory; name a file in it") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}") from None
    if size > _LARGEST:
        raise FileError(f"{path} has {size:,} bytes, more than the {_LARGEST:,} that are read")
    builder, depth = ET.TreeBuilder(), [0]
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def doctype(_name: str, _system: str | None, _public: str | None, declares: bool) -> None:
        if declares:
            raise FileError(
                f"{path}:{parser.CurrentLineNumber}: the document type declares something in "
                "brackets, which may be entities that grow without end; take the declaration out"
            )

    def skipped(name: str, _parameter: bool) -> None:
        raise FileError(
            f"{path}:{parser.CurrentLineNumber}: &{name}; is declared in another file, and those "
            "are never opened; write the text itself"
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

    parser.StartDoctypeDeclHandler, parser.SkippedEntityHandler = doctype, skipped
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
        return builder.close()
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise FileError(f"{path}: this is no XML: {error}") from None


def _qualified(name: str) -> str:
    return "{" + name if "}" in name else name
