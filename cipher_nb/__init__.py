"""Make the coding assistant on your own machine better at your work, and prove it before it is served.

from cipher_nb import Workspace
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cipher_nb.workspace import Workspace

__all__ = ["Workspace", "__version__"]
__version__ = "0.1.0"


def load_ipython_extension(ipython: Any) -> None:
    """Add the magics `%cipher` and `%%cipher`; `%load_ext cipher_nb` calls this."""
    from cipher_nb.magic import register

    register(ipython)


def __getattr__(name: str) -> Any:
    if name == "Workspace":
        from cipher_nb.workspace import Workspace

        return Workspace
    raise AttributeError(f"module 'cipher_nb' has no attribute {name!r}")
