"""The extension as Jupyter Server loads it."""

from __future__ import annotations

from pathlib import Path

from jupyter_server.extension.application import ExtensionApp
from traitlets import Unicode

from cipher_nb.server.handlers import HANDLERS
from cipher_nb.server.keeper import Keeper
from cipher_nb.server.proxy import PROXY_HANDLERS
from cipher_nb.server.tasks import TASK_HANDLERS


class CipherExtension(ExtensionApp):
    """Serves a workspace's bus, scaffold and tasks, and a proxy of its engine as OpenAI's API, under `api/cipher/`."""

    name = "cipher_nb"

    workspace = Unicode(
        config=True,
        help="The folder whose .aide/, or else the nearest one above, is served. Default: the server's root_dir.",
    )

    def initialize_handlers(self) -> None:
        assert self.serverapp is not None
        self._keeper = Keeper(Path(self.workspace or self.serverapp.root_dir))
        shared = {"keeper": self._keeper}
        self.handlers.extend((path, handler, shared) for path, handler in (*HANDLERS, *TASK_HANDLERS, *PROXY_HANDLERS))

    async def stop_extension(self) -> None:
        await self._keeper.close()
