"""The core is light: importing it costs little and pulls in nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "transformers",
    "peft",
    "ipywidgets",
    "tornado",
    "papermill",
    "pandas",
    "matplotlib",
    "scipy",
    "httpx",
)


@pytest.mark.parametrize("statement", ["import cipher_nb", "from cipher_nb import Workspace", "import cipher_nb.cli"])
def test_nothing_heavy_comes_with_it(statement: str) -> None:
    code = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert [name for name in HEAVY if name in loaded] == []
