"""The state bus: what the operator and the machine did, one JSON object a line, append-only, open to other programs."""

from cipher_nb.bus.bus import Bus, Tail
from cipher_nb.bus.cursor import Added, Cursor
from cipher_nb.bus.purge import Purged, Unwanted

__all__ = ["Added", "Bus", "Cursor", "Purged", "Tail", "Unwanted"]
