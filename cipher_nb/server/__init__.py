"""The Jupyter Server extension: `{base_url}api/cipher/`, described in `openapi.json` beside this file."""

from typing import Any


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    from cipher_nb.server.app import CipherExtension

    return [{"module": "cipher_nb.server", "app": CipherExtension}]
