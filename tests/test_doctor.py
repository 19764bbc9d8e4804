from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from cipher_nb.sandbox.checks import isolation

CODE = """\
from pathlib import Path
from cipher_nb.doctor import examine
print(*((each.mark, each.text, each.mend) for each in examine(Path.cwd()) if each.name == "isolation"))
"""
UNHELD = "checks of proposals see your files and the network, and the battery asks for no code"
MEND = "apt-get install bubblewrap, or your system's package of it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "programs", "line"),
    [
        ("bubblewrap", ["bwrap", "unshare"], ("ok", "bubblewrap", "")),
        ("userns", ["unshare"], ("ok", "userns: user namespaces, set up without bubblewrap", MEND)),
        ("none", [], ("--", f"none: {UNHELD}", MEND)),
    ],
)
def test_the_isolation_is_named_with_the_way_to_a_better_one(tmp_path, kind, programs, line):
    if not isolation.works(kind):
        pytest.skip(f"{kind} does not work on this machine")
    for name in ("true", *programs):
        (tmp_path / name).symlink_to(shutil.which(name))
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == str(line)
