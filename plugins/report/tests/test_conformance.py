"""The plugin keeps every promise of the conformance kit, alone with the core."""

from __future__ import annotations

import subprocess
import sys

import parcast_report
from parcast.testing import check_plugin


def test_the_package_conforms() -> None:
    check_plugin(parcast_report)


def test_matplotlib_is_imported_only_when_a_plot_is_written() -> None:
    code = "import sys, parcast_report.writing; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
