"""Two Jupyter servers for all tests of the extension: one as careful people set it up, one to be disturbed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cipher_nb.testing import sample_workspace
from cipher_nb.workspace import Workspace
from tests.server.doubles import Jupyter, SmallEngine, jupyter, small_engine

AUTHORIZER = """
from jupyter_server.auth import Authorizer

class Doorkeeper(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return handler.request.headers.get("X-May-Not") != f"{action} {resource}"

c.ServerApp.authorizer_class = Doorkeeper
"""


@pytest.fixture(scope="session")
def running_engine() -> Iterator[SmallEngine]:
    with small_engine() as engine:
        yield engine


@pytest.fixture
def engine(running_engine: SmallEngine) -> SmallEngine:
    """The engine of both servers' workspaces, as if it had just been started."""
    running_engine.reset()
    return running_engine


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, running_engine: SmallEngine) -> Iterator[Jupyter]:
    """A server under /lab/ that lets nobody in unauthenticated, over a sample workspace (4 + 2 approvals, …)."""
    folder = tmp_path_factory.mktemp("lab")
    ws = sample_workspace(folder / "ws")
    use(ws, running_engine)
    inner = ws.paths.root / "notebooks"
    inner.mkdir()
    strict = "--ServerApp.allow_unauthenticated_access=False"
    with jupyter(inner, strict, base_url="/lab/", log=folder / "jupyter.log", config=AUTHORIZER) as server:
        yield server


@pytest.fixture(scope="session")
def spare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """A server with Jupyter's own settings; its root is empty, and its workspace is a folder each test may fill."""
    folder = tmp_path_factory.mktemp("spare")
    named = f"--CipherExtension.workspace={folder / 'named'}"
    (folder / "root").mkdir()
    (folder / "named").mkdir()
    with jupyter(folder / "root", named, log=folder / "jupyter.log", config=AUTHORIZER) as server:
        yield server


@pytest.fixture
def fresh(spare: Jupyter, engine: SmallEngine, tmp_path: Path) -> Iterator[Workspace]:
    """A new workspace for `spare`, taken away after the test."""
    ws = Workspace.init(spare.root.parent / "named")
    use(ws, engine)
    yield Workspace.open(ws.paths.root)
    ws.paths.aide.rename(tmp_path / "was")


def use(ws: Workspace, engine: SmallEngine) -> None:
    ws.paths.config.write_text(f'[engine]\nurl = "{engine.url}"\n')
