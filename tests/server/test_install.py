"""The extension as it is installed: light to look at, and enabled by the installation itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_jupyter_lists_it_as_enabled_and_ok() -> None:
    command = [sys.executable, "-m", "jupyter_server", "extension", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    words = [re.sub(r"\x1b\[\d+m", "", line).split() for line in (done.stdout + done.stderr).splitlines()]
    assert ["cipher_nb.server", "enabled"] in words
    assert ["cipher_nb.server", "OK"] in words


def test_the_wheel_places_the_setting_where_jupyter_looks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    source, target = "cipher_nb/server/cipher_nb.json", "etc/jupyter/jupyter_server_config.d/cipher_nb.json"
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"] == {source: target}
    assert json.loads((ROOT / source).read_text()) == {"ServerApp": {"jpserver_extensions": {"cipher_nb.server": True}}}


def test_asking_what_there_is_loads_no_server() -> None:
    code = (
        "import sys, cipher_nb.server; print([name for name in ('tornado', 'jupyter_server') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
