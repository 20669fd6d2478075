"""The example notebooks run from top to bottom, and what they show can be seen."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from parcast.testing import turn

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"

#: A cell that takes this long never ends; a busy host takes its time.
MOST_SECONDS = 3600

#: What the cells with code show, in order.
SHOWN = {
    "disks-and-doubts": ["image/svg+xml", "text/plain", "text/html", "text/plain"],
    "side-by-side": ["text/html"] * 3 + ["image/svg+xml", "text/html"] + ["text/plain"] * 2,
}


def test_all_are_run() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(SHOWN)


@pytest.mark.filterwarnings("ignore")  # what a kernel's libraries warn of is not ours
@pytest.mark.parametrize("name", turn(SHOWN, 2))
def test_a_notebook_shows_what_it_says(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] for cell in cells)  # kept empty: they are made here
    NotebookClient(
        notebook, timeout=MOST_SECONDS, resources={"metadata": {"path": tmp_path}}
    ).execute()
    for cell, kind in zip(cells, SHOWN[name], strict=True):
        (output,) = [one for one in cell.outputs if one.output_type == "execute_result"]
        assert kind in output.data
        assert "Traceback" not in str(output.data)
