"""Count over all pages: files, those of them that are read, and their formats.

    uv run python experiments/trace-files/totals.py

The table that it prints stands in README.md.
"""

from __future__ import annotations

from pathlib import Path

#: What the pages whose tables have no column of formats are of.
PAGES = {"trace-files": "", "pytorch": "", "profiles": "", "petri-nets": "PNML", "nets": "JMT",
         "strangers": ""}  # fmt: skip


def rows_of(page: Path) -> list[dict[str, str]]:
    """Return the rows of a page's table by their heads."""
    texts = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    table = [[cell.strip() for cell in text.strip("|").split(" | ")] for text in texts]
    return [dict(zip(table[0], row, strict=False)) for row in table[2:]]


def main() -> None:
    """Print a row for each page, and one for all."""
    print("| page | files | read | share | formats |\n|---|---|---|---|---|")
    files, taken, formats, repositories = 0, 0, set[str](), set[str]()
    for name, known in PAGES.items():
        rows = rows_of(Path(__file__).with_name(f"{name}.md"))
        # a network of JMT that is read is solved
        read = sum(not row["outcome"].startswith(("refused", "**")) for row in rows)
        labels = [row.get("format", known) for row in rows]
        own = {label.split(" ")[0] for label in labels if label}  # without its version
        share = f"{read / len(rows):.1%}"
        print(f"| [{name}]({name}.md) | {len(rows)} | {read} | {share} | {len(own)} |")
        files, taken = files + len(rows), taken + read
        formats |= own
        repositories |= {row["repository"] for row in rows}
    head = f"all, of {len(repositories)} repositories"
    print(f"| {head} | {files} | {taken} | {taken / files:.1%} | {len(formats)} |")


if __name__ == "__main__":
    main()
