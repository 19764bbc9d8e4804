"""The operator's desk in a notebook: what is served, what waits, and three buttons."""

from cipher_nb.cockpit.cockpit import Cockpit

__all__ = ["Cockpit"]
