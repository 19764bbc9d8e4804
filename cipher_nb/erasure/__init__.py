"""Erasure: what the operator wants gone leaves every file that holds it, and what was made from it is marked."""

from cipher_nb.erasure.doomed import NOTE
from cipher_nb.erasure.erase import Erased, MarkedAdapter, erase

__all__ = ["NOTE", "Erased", "MarkedAdapter", "erase"]
